// Markdown on the page. Blocks that did not change are not touched, so that a selection in them survives streaming.
import { Component } from 'preact';
import { useMemo } from 'preact/hooks';
import { CopyButton } from '../views/copy.js';
import { toBlocks, type Block } from './blocks.js';
import { nodeOf } from './nodes.js';

export function Markdown({ text }: { text: string }) {
    const blocks = useMemo(() => toBlocks(text), [text]);
    return (
        <div class="markdown">
            {blocks.map((block, index) =>
                block.token.type === 'code' ? (
                    <CodeBlock key={index} text={textOf(block, 'text')} language={textOf(block, 'lang')} />
                ) : (
                    <MarkdownBlock key={index} block={block} />
                ),
            )}
        </div>
    );
}

function textOf({ token }: Block, field: 'text' | 'lang'): string {
    const value: unknown = (token as unknown as Record<string, unknown>)[field];
    return typeof value === 'string' ? value : '';
}

/** The same text is the same block: nothing in it is made again. */
class MarkdownBlock extends Component<{ block: Block }> {
    override shouldComponentUpdate({ block }: { block: Block }): boolean {
        return block.raw !== this.props.block.raw;
    }

    override render() {
        return <div>{nodeOf(this.props.block.token)}</div>;
    }
}

function CodeBlock({ text, language }: { text: string; language: string }) {
    const name = language.split(/\s/)[0] ?? '';
    return (
        <figure class="code">
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
