// Parts of Markdown → nodes. HTML is never made, so nothing has to be cleaned: only what is listed here can appear, links lead
// only to where links may lead, and everything else is the text it is.
import type { ComponentChild, VNode } from 'preact';
import type { Token, Tokens } from 'marked';
import { decodeEntities } from './entities.js';

// Deeper than anybody reads.
const mostLevels = 40;
const headings = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'] as const;

export function nodesOf(tokens: readonly Token[] | undefined, level = 0): ComponentChild[] {
    return (tokens ?? []).map((token) => nodeOf(token, level));
}

export function nodeOf(token: Token, level = 0): ComponentChild {
    if (level > mostLevels) return token.raw;
    const inside = () => nodesOf((token as { tokens?: Token[] }).tokens, level + 1);
    switch (token.type) {
        case 'heading': {
            const Heading = headings[(token as Tokens.Heading).depth - 1] ?? 'h6';
            return <Heading>{inside()}</Heading>;
        }
        case 'paragraph':
            return <p>{inside()}</p>;
        case 'blockquote':
            return <blockquote>{inside()}</blockquote>;
        case 'strong':
            return <strong>{inside()}</strong>;
        case 'em':
            return <em>{inside()}</em>;
        case 'del':
            return <del>{inside()}</del>;
        case 'br':
            return <br />;
        case 'hr':
            return <hr />;
        case 'codespan':
            return <code>{(token as Tokens.Codespan).text}</code>;
        case 'code':
            return <pre tabIndex={0}><code>{(token as Tokens.Code).text}</code></pre>;
        case 'list':
            return listOf(token as Tokens.List, level);
        case 'table':
            return tableOf(token as Tokens.Table, level);
        case 'link':
            return linkOf((token as Tokens.Link).href, (token as Tokens.Link).title, inside());
        case 'image': {
            // A remote picture would tell its server that this was read. It becomes a link that a person may follow.
            const { href, text, title } = token as Tokens.Image;
            return linkOf(href, title, [`🖼 ${decodeEntities(text) || href || 'picture'}`]);
        }
        case 'text': {
            const { tokens, text } = token as Tokens.Text;
            return tokens ? inside() : decodeEntities(text);
        }
        case 'escape':
            return (token as Tokens.Escape).text;
        case 'space':
        case 'def':
            return null;
        default:
            // HTML is shown as what it is: text. A model has no reason to write it, and what it writes may come from a
            // page that someone pasted.
            return token.raw;
    }
}

function listOf({ ordered, start, items, loose }: Tokens.List, level: number): VNode {
    const rows = items.map((item) => {
        const box = item.task ? <input type="checkbox" disabled checked={item.checked === true} /> : null;
        const parts = item.tokens.map((token) => {
            const node = nodeOf(token, level + 1);
            return loose && token.type === 'text' ? <p>{node}</p> : node;
        });
        return <li>{box}{parts}</li>;
    });
    if (!ordered) return <ul>{rows}</ul>;
    return <ol {...(typeof start === 'number' && start !== 1 ? { start } : {})}>{rows}</ol>;
}

function tableOf({ header, rows }: Tokens.Table, level: number): VNode {
    const cells = (row: readonly Tokens.TableCell[], Cell: 'th' | 'td') => (
        <tr>
            {row.map(({ tokens, align }) => (
                <Cell {...(align ? { align } : {})}>{nodesOf(tokens, level + 1)}</Cell>
            ))}
        </tr>
    );
    return (
        <div class="table-frame" tabIndex={0}>
            <table>
                <thead>{cells(header, 'th')}</thead>
                <tbody>{rows.map((row) => cells(row, 'td'))}</tbody>
            </table>
        </div>
    );
}

function linkOf(href: string, title: string | null | undefined, content: ComponentChild[]): VNode {
    const address = safeAddress(decodeEntities(href));
    if (address === undefined) return <span>{content}</span>;
    const more = title ? { title: decodeEntities(title) } : {};
    return (
        <a href={address} target="_blank" rel="noopener noreferrer nofollow" {...more}>
            {content}
        </a>
    );
}

/** Where a link may lead: pages and mail. URL reads an address as the browser will when somebody follows it. */
export function safeAddress(href: string): string | undefined {
    try {
        return ['http:', 'https:', 'mailto:'].includes(new URL(href).protocol) ? href : undefined;
    } catch {
        return undefined; // not an address by itself: this site has no pages that a model could know
    }
}
