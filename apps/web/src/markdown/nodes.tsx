// Parts of Markdown → nodes. HTML is never made, so nothing has to be cleaned: only what is listed here can appear, links lead
// only to where links may lead, and everything else is the text it is.
import { h, type ComponentChild } from 'preact';
import type { Token } from './parser.js';

type Props = Record<string, unknown>;

/** Something that was opened and is not closed yet; `wrap` makes it when it is. */
interface Open {
    children: ComponentChild[];
    wrap(children: ComponentChild[]): ComponentChild;
}

/** Of one block; without tokens, its text. */
export function nodesOf(tokens: readonly Token[] | undefined, raw: string): ComponentChild[] {
    return tokens ? built(tokens, (token, before) => block(token, before)) : plain(raw);
}

/** What opens, closes, or stands by itself → a tree. */
function built(tokens: readonly Token[], node: (token: Token, before: readonly Token[]) => Open | ComponentChild): ComponentChild[] {
    const root: Open = { children: [], wrap: (children) => children };
    const open = [root];
    tokens.forEach((token, index) => {
        const top = open.at(-1) ?? root;
        if (token.nesting < 0) {
            if (open.length < 2) return; // closes nothing
            open.pop();
            open.at(-1)?.children.push(top.wrap(top.children));
            return;
        }
        const made = node(token, tokens.slice(Math.max(0, index - 2), index));
        if (token.nesting > 0) open.push(made as Open);
        else top.children.push(made as ComponentChild);
    });
    while (open.length > 1) {
        const top = open.pop() ?? root;
        open.at(-1)?.children.push(top.wrap(top.children));
    }
    return root.children;
}

const element = (type: string, props: Props = {}): Open => ({ children: [], wrap: (children) => h(type, props, ...children) });
const transparent = (): Open => ({ children: [], wrap: (children) => children });

/** The tags that are made as they are called. */
const asTheyAre = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'li', 'thead', 'tbody', 'tr', 'strong', 'em']);

function block(token: Token, before: readonly Token[]): Open | ComponentChild {
    switch (token.type) {
        case 'paragraph_open':
            return token.hidden ? transparent() : element('p');
        case 'ordered_list_open': {
            const start = Number(attribute(token, 'start') ?? 1);
            return element('ol', start === 1 ? {} : { start });
        }
        case 'table_open':
            return { children: [], wrap: (children) => <div class="table-frame" tabIndex={0}><table>{children}</table></div> };
        case 'th_open':
        case 'td_open': {
            const side = /^text-align:(left|center|right)$/.exec(attribute(token, 'style') ?? '')?.[1];
            return element(token.tag, side ? { class: `to-${side}` } : {});
        }
        case 'hr':
            return <hr />;
        case 'fence':
        case 'code_block':
            return <pre tabIndex={0} dir="ltr"><code>{token.content.replace(/\n$/, '')}</code></pre>;
        case 'inline':
            return leaf(token, before);
        case 'reference_definition':
            return null;
        default:
            if (token.nesting > 0) return asTheyAre.has(token.tag) ? element(token.tag) : transparent();
            return token.content;
    }
}

function leaf(token: Token, before: readonly Token[]): ComponentChild {
    const { children, content } = token;
    if (!children?.length) return plain(content);
    const inItem = before[0]?.type === 'list_item_open' && before[1]?.type === 'paragraph_open';
    const [first] = children;
    const [, mark] = (inItem && first?.type === 'text' && /^\[([ xX])\] /.exec(first.content)) || [];
    if (mark === undefined || !first) return inline(children);
    return (
        <label>
            <input type="checkbox" disabled checked={mark !== ' '} />
            {first.content.slice(4)}
            {inline(children.slice(1))}
        </label>
    );
}

/** As it was written. */
function plain(text: string): ComponentChild[] {
    const words = text.trimEnd();
    return [words.includes('\n') ? <span class="as-it-is">{words}</span> : words];
}

function inline(tokens: readonly Token[]): ComponentChild[] {
    return built(tokens, (token) => {
        switch (token.type) {
            case 's_open':
                return element('del');
            case 'link_open': {
                const [href = '', title] = [attribute(token, 'href'), attribute(token, 'title')];
                return { children: [], wrap: (children: ComponentChild[]) => linkTo(href, title, children) };
            }
            case 'image': {
                // A remote picture would tell its server that this was read. It becomes a link that a person may follow.
                const { children, content } = token;
                const href = attribute(token, 'src') ?? '';
                const words = (children ?? []).map((child) => child.content).join('') || content || href || 'picture';
                return linkTo(href, attribute(token, 'title'), [`🖼 ${words}`]);
            }
            case 'code_inline':
                return <code>{token.content}</code>;
            case 'formula':
                return <span class="formula">{token.content}</span>;
            case 'softbreak':
            case 'hardbreak':
                return <br />;
            default:
                if (token.nesting > 0) return asTheyAre.has(token.tag) ? element(token.tag) : transparent();
                return token.content;
        }
    });
}

function attribute({ attrs }: Token, name: string): string | undefined {
    const found = attrs?.find(([key]) => key === name)?.[1];
    return found === undefined ? undefined : String(found);
}

function linkTo(href: string, title: string | undefined, content: ComponentChild[]): ComponentChild {
    const address = safeAddress(href);
    if (address === undefined) return <span>{content}</span>;
    return (
        <a href={address} target="_blank" rel="noopener noreferrer nofollow" {...(title ? { title } : {})}>
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
