'use client';
import { storyteller } from 'lapidary/storyteller';
import { useEffect } from 'react';
import { answer } from '../answer.js';
import { show } from '../show.js';

export default function Page() {
    useEffect(() => {
        show('storyteller', () => answer(storyteller)).then(() => show('file', () => answer('/model.gguf')));
    }, []);
    return <p>Lapidary with Next.js</p>;
}
