// The frame of a page that is not the chat.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { PageProps } from '../shell/feature.js';
import { IconButton } from './icons.js';

export function PageFrame(props: PageProps & { title: string; intro: string; children: ComponentChildren }) {
    useEffect(() => {
        document.title = `${props.title} · Lapidary`;
    }, [props.title]);
    return (
        <>
            <header class="bar only-phone">
                <IconButton icon="menu" label="Open the menu" onClick={props.onMenu} />
            </header>
            <div class="page-body">
                <h1 tabIndex={-1}>{props.title}</h1>
                <p class="intro">{props.intro}</p>
                {props.children}
            </div>
        </>
    );
}

/** Names and values, side by side. */
export function Facts({ facts }: { facts: [name: string, value: ComponentChildren][] }) {
    return (
        <dl class="facts">
            {facts.map(([name, value]) => (
                <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                </div>
            ))}
        </dl>
    );
}
