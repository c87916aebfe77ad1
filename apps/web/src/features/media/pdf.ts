// A PDF file as text, or as pictures of its pages. pdf.js is large: it comes when the first one does.
import { GlobalWorkerOptions, getDocument, type PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs';
import worker from 'pdfjs-dist/legacy/build/pdf.worker.min.mjs?url';
import { longestText } from '../../files/kind.js';
import { keepFile } from '../../store/media.js';
import type { Part } from '../../store/parts.js';
import { textTooLong } from '../../views/drop-words.js';

/** More would not fit into most contexts. */
const mostPages = 8;
/** Of the longer side, so that small print is still there at 1,120 tokens. */
const longestSide = 1800;

GlobalWorkerOptions.workerSrc = worker;

async function withPages<Result>(file: File, work: (pages: PDFDocumentProxy) => Promise<Result>): Promise<Result> {
    const loading = getDocument({ data: new Uint8Array(await file.arrayBuffer()), useSystemFonts: true, stopAtErrors: true });
    try {
        let pages: PDFDocumentProxy;
        try {
            pages = await loading.promise;
        } catch (cause) {
            const locked = cause instanceof Error && cause.name === 'PasswordException';
            throw new Error(`${file.name} ${locked ? 'is locked with a password' : 'is damaged or no PDF file'}.`, { cause });
        }
        return await work(pages);
    } finally {
        await loading.destroy();
    }
}

/** Of a short file its pages, of a long one its text. */
export async function readPages(file: File, signal: AbortSignal): Promise<Part[]> {
    return await withPages(file, async (pages) => (pages.numPages > mostPages ? await textOf(file, pages, signal) : await picturesOf(file, pages, signal)));
}

/** For models that cannot see. */
export async function readText(file: File, signal: AbortSignal): Promise<Part[]> {
    return await withPages(file, async (pages) => await textOf(file, pages, signal));
}

async function picturesOf(file: File, pages: PDFDocumentProxy, signal: AbortSignal): Promise<Part[]> {
    const parts: Part[] = [];
    for (let number = 1; number <= pages.numPages; number++) {
        signal.throwIfAborted();
        const page = await pages.getPage(number);
        const { width, height } = page.getViewport({ scale: 1 });
        const viewport = page.getViewport({ scale: Math.min(4, longestSide / Math.max(width, height, 1)) });
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [Math.ceil(viewport.width), Math.ceil(viewport.height)];
        await page.render({ canvas, viewport }).promise;
        const picture = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
        if (!picture) throw new Error(`Page ${number} of ${file.name} cannot be drawn here.`);
        const name = `${file.name}, page ${number}`;
        parts.push({ type: 'image', file: await keepFile(new File([picture], name, { type: 'image/png' })), detail: 'high' });
    }
    return parts;
}

async function textOf(file: File, pages: PDFDocumentProxy, signal: AbortSignal): Promise<Part[]> {
    let text = '';
    for (let number = 1; number <= pages.numPages; number++) {
        signal.throwIfAborted();
        const { items } = await (await pages.getPage(number)).getTextContent();
        for (const item of items) if ('str' in item) text += item.str + (item.hasEOL ? '\n' : '');
        text += '\n\n';
        if (text.length > longestText) throw new Error(textTooLong(file.name, text.length, longestText));
    }
    if (text.trim() === '') throw new Error(`${file.name} has no text in it, only pictures of its pages.`);
    return [{ type: 'text', name: file.name, text: text.trim() }];
}
