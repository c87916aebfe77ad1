// An arithmetic expression, by recursive descent. Nothing of it is ever run as a program.

const constants: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };
const functions: Readonly<Record<string, (...values: number[]) => number>> = {
    sqrt: Math.sqrt,
    abs: Math.abs,
    ln: Math.log,
    log: Math.log10,
    exp: Math.exp,
    sin: Math.sin,
    cos: Math.cos,
    tan: Math.tan,
    round: Math.round,
    floor: Math.floor,
    ceil: Math.ceil,
    min: Math.min,
    max: Math.max,
};
const longest = 1000;
const deepest = 100;

export function calculate(text: string): number {
    if (text.length > longest) throw new Error(`an expression has at most ${longest} characters`);
    const reader = new Reader(text.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+|[A-Za-z]+|\*\*|\S/g) ?? []);
    const value = reader.sum();
    reader.end();
    if (Number.isNaN(value)) throw new Error('this has no value');
    return value;
}

class Reader {
    private at = 0;
    private depth = 0;

    constructor(private readonly words: readonly string[]) {}

    sum(): number {
        if (++this.depth > deepest) throw new Error('there are too many parentheses');
        let value = this.product();
        for (;;) {
            if (this.take('+')) value += this.product();
            else if (this.take('-', '−', '–')) value -= this.product();
            else break;
        }
        this.depth--;
        return value;
    }

    end(): void {
        const word = this.words[this.at];
        if (word !== undefined) throw new Error(`'${word}' is not understood at that place`);
    }

    private product(): number {
        let value = this.signed();
        for (;;) {
            if (this.take('*', '×', '·')) value *= this.signed();
            else if (this.take('/', '÷')) value /= this.signed();
            else if (this.take('%')) value %= this.signed();
            else return value;
        }
    }

    /** −2 ^ 2 is −4. */
    private signed(): number {
        let sign = 1;
        for (;;) {
            if (this.take('-', '−', '–')) sign = -sign;
            else if (!this.take('+')) return sign * this.power();
        }
    }

    private power(): number {
        const bases = [this.single()];
        while (this.take('^', '**')) bases.push(this.exponent());
        return bases.reduceRight((exponent, base) => base ** exponent);
    }

    private exponent(): number {
        return this.take('-', '−') ? -this.single() : this.single();
    }

    private single(): number {
        const word = this.words[this.at++];
        if (word === undefined) throw new Error('the expression ends too soon');
        if (/^[\d.]/.test(word)) return Number(word);
        if (word === '(') return this.closed();
        const name = word.toLowerCase();
        const constant = Object.hasOwn(constants, name) ? constants[name] : undefined;
        if (constant !== undefined) return constant;
        const called = Object.hasOwn(functions, name) ? functions[name] : undefined;
        if (!called) throw new Error(`'${word}' is neither a number nor a function`);
        if (!this.take('(')) throw new Error(`'${word}' needs parentheses`);
        const values = [this.sum()];
        while (this.take(',')) values.push(this.sum());
        this.close();
        return called(...values);
    }

    private closed(): number {
        const value = this.sum();
        this.close();
        return value;
    }

    private close(): void {
        if (!this.take(')')) throw new Error("a ')' is missing");
    }

    private take(...words: string[]): boolean {
        if (!words.includes(this.words[this.at] ?? '')) return false;
        this.at++;
        return true;
    }
}
