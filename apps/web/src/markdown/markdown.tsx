// Markdown on the page. Blocks that did not change are not touched, so that a selection in them survives streaming.
import { Component } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { CopyButton } from '../views/copy.js';
import { nodesOf } from './nodes.js';
import { Reader, type Block } from './reader.js';
import { turns } from './turns.js';

// Until it is read, in a moment, there is no need to lay out all of it.
const mostUnread = 2000;
/** From here on browsers lay out only what is seen. */
const long = 20_000;

/** `growing`: there is more to come. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
    const reader = (useRef<Reader>().current ??= new Reader());
    const [, goOn] = useReducer((count: number) => count + 1, 0);
    const done = reader.read(text, growing, turns);
    turns.spent();
    useEffect(() => (done ? undefined : turns.wait(() => goOn(undefined))));
    const { blocks } = reader;
    const rest = reader.rest.slice(0, mostUnread);
    return (
        <div class={text.length > long ? 'markdown long' : 'markdown'}>
            {blocks.map((block, index) => (
                <MarkdownBlock key={index} block={block} />
            ))}
            {rest.trim() !== '' && <div class="unread" dir="auto">{rest}</div>}
        </div>
    );
}

/** The same block, or one that says the same: nothing in it is made again. */
class MarkdownBlock extends Component<{ block: Block }> {
    override shouldComponentUpdate({ block }: { block: Block }): boolean {
        const { raw, done, references } = this.props.block;
        return block.raw !== raw || block.done !== done || block.references !== references;
    }

    override render() {
        const { tokens, raw } = this.props.block;
        const [first] = tokens ?? [];
        if (first?.type === 'reference_definition') return null;
        if (first?.type === 'fence' || first?.type === 'code_block') {
            return <CodeBlock text={first.content.replace(/\n$/, '')} language={first.info} />;
        }
        return <div dir="auto">{nodesOf(tokens, raw)}</div>;
    }
}

function CodeBlock({ text, language }: { text: string; language: string }) {
    const name = language.trim().split(/\s/)[0] ?? '';
    return (
        <figure class="code" dir="ltr">
            <figcaption>
                <span>{name}</span>
                <CopyButton text={text} label="Copy code" />
            </figcaption>
            <pre tabIndex={0}>
                <code>{text}</code>
            </pre>
        </figure>
    );
}
