// Reads a streaming answer to those who listen: whole sentences, as they are finished, never letters.
import { useEffect, useRef } from 'preact/hooks';
import type { Message } from '../store/conversation.js';
import { announce } from './notices.js';

export function Narrator({ message }: { message: Message | undefined }) {
    const spoken = useRef({ id: '', length: 0, text: '' });
    const content = message?.role === 'assistant' ? message.content : '';
    useEffect(() => {
        const state = spoken.current;
        if (!message) {
            // The end, without a full stop perhaps.
            const rest = state.text.slice(state.length).trim();
            if (rest !== '') announce(rest);
            spoken.current = { id: '', length: 0, text: '' };
            return;
        }
        // What is there already is not new: the answer may have been broken off and go on.
        if (state.id !== message.id) Object.assign(state, { id: message.id, length: content.length });
        state.text = content;
        const end = lastSentenceEnd(content);
        if (end <= state.length) return;
        announce(content.slice(state.length, end).trim());
        state.length = end;
    }, [message?.id, content]);
    return null;
}

function lastSentenceEnd(text: string): number {
    let end = 0;
    for (const match of text.matchAll(/[.!?…:]["'”’)]*\s|\n/g)) end = match.index + match[0].length;
    return end;
}
