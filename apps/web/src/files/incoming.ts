// Text that came from outside the composer, on its way into it. What comes while no composer is shown waits for the next.

type Take = (text: string) => void;

let taker: Take | undefined;
let waiting: string[] = [];

/** For the composer: until the function that comes back is called, text goes there. */
export function takeText(take: Take): () => void {
    taker = take;
    for (const text of waiting.splice(0)) take(text);
    return () => {
        if (taker === take) taker = undefined;
    };
}

export function giveText(text: string): void {
    if (taker) taker(text);
    else waiting = [text]; // the last one: whoever dropped it is on the way
}

/** After what is there already, on a line of its own. */
export function appended(before: string, text: string): string {
    return before.trim() === '' ? text : `${before.trimEnd()}\n\n${text}`;
}
