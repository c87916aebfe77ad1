// Breaks lines between words, while the text still arrives: a word is held back until it is known to end.
import stringWidth from 'string-width';

/** What a terminal breaks anywhere: between two of these, or beside one, no space is needed. */
const breaksAnywhere = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const tabStop = 8;

export class WordWrap {
    private column = 0;
    private spaces = '';
    private word = '';
    private atStart = true;

    /** `columns` is asked each time, because windows change. */
    constructor(private readonly columns: () => number) {}

    /** What can be written now. */
    add(text: string): string {
        let out = '';
        for (const { segment } of graphemes.segment(text)) {
            if (segment === '\n' || segment === '\r\n') {
                out += `${this.flushWord()}\n`; // spaces at the end of a line are not seen
                this.restart();
            } else if (segment === ' ' || segment === '\t') {
                out += this.flushWord();
                this.spaces += segment;
            } else if (breaksAnywhere.test(segment)) {
                out += this.flushWord();
                this.word = segment;
                out += this.flushWord();
            } else {
                this.word += segment;
            }
        }
        return out;
    }

    /** What is held back, at the end. */
    end(): string {
        const out = this.flushWord();
        this.spaces = '';
        return out;
    }

    private flushWord(): string {
        if (this.word === '') return '';
        const { word } = this;
        const width = stringWidth(word);
        const gap = this.widthOfSpaces();
        this.word = '';
        let out = this.spaces;
        this.spaces = '';
        // Indentation stays: it has a meaning in code and lists.
        if (!this.atStart && this.column + gap + width > this.columns()) {
            out = '\n';
            this.column = width;
        } else {
            this.column += gap + width;
        }
        this.column = this.column > this.columns() ? this.column % this.columns() : this.column; // the terminal broke it
        this.atStart = false;
        return out + word;
    }

    private widthOfSpaces(): number {
        let column = this.column;
        for (const space of this.spaces) column += space === '\t' ? tabStop - (column % tabStop) : 1;
        return column - this.column;
    }

    /** The next text begins a line. */
    restart(): void {
        this.column = 0;
        this.spaces = '';
        this.atStart = true;
    }
}
