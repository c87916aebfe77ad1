// Markdown of a model is untrusted text: parsed by marked, cleaned by DOMPurify, and put into the page as nodes. While an
// answer streams in, only the blocks that changed are made again.
import DOMPurify, { type Config } from 'dompurify';
import { Marked, type Token, type TokensList } from 'marked';

const marked = new Marked({
    gfm: true,
    breaks: false,
    // HTML in the text is shown as what it is: text. A model has no reason to write it, and what it writes may come from
    // a page that someone pasted.
    renderer: { html: ({ text }) => escapeHtml(text) },
});

// What Markdown can make, and nothing else. No style, no class but the language of code, no ids, no forms, no media.
const rules: Config = {
    ALLOWED_TAGS: [
        ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 'del', 'code', 'pre', 'blockquote'],
        ...['ul', 'ol', 'li', 'input', 'a', 'img', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
    ],
    ALLOWED_ATTR: ['href', 'title', 'align', 'start', 'type', 'checked', 'disabled', 'class', 'alt', 'src'],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
};

export interface Block {
    /** The Markdown; the same text makes the same block. */
    raw: string;
    token: Token;
    links: TokensList['links'];
}

export function toBlocks(text: string): Block[] {
    const tokens = marked.lexer(text);
    return tokens
        .filter((token) => token.type !== 'space')
        .map((token) => ({ raw: token.raw, token, links: tokens.links }));
}

export function renderBlock({ token, links }: Block): DocumentFragment {
    const html = marked.parser(Object.assign([token], { links }));
    const fragment = DOMPurify.sanitize(html, rules) as unknown as DocumentFragment;
    for (const image of fragment.querySelectorAll('img')) image.replaceWith(imageLink(image));
    for (const link of fragment.querySelectorAll('a')) tameLink(link);
    for (const box of fragment.querySelectorAll('input')) tameCheckbox(box);
    for (const table of fragment.querySelectorAll('table')) makeScrollable(table);
    return fragment;
}

/** A remote picture would tell its server that this was read. It becomes a link that a person may follow. */
function imageLink(image: HTMLImageElement): HTMLElement {
    const address = image.getAttribute('src');
    const link = document.createElement(address ? 'a' : 'span');
    link.textContent = `🖼 ${image.alt || address || 'picture'}`;
    if (address) link.setAttribute('href', address);
    return link;
}

function tameLink(link: HTMLAnchorElement): void {
    link.target = '_blank';
    link.rel = 'noopener noreferrer nofollow';
}

function tameCheckbox(box: HTMLInputElement): void {
    box.type = 'checkbox';
    box.disabled = true;
}

function makeScrollable(table: HTMLTableElement): void {
    const frame = document.createElement('div');
    frame.className = 'table-frame';
    frame.tabIndex = 0;
    table.replaceWith(frame);
    frame.append(table);
}

function escapeHtml(text: string): string {
    const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
    return text.replace(/[&<>"']/g, (letter) => names[letter] ?? letter);
}
