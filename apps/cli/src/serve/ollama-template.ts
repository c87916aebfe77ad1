// `template` of Ollama's /api/generate: how the prompt is to be put together instead of the model's own way. Go's
// templates are a language; what is understood is the part of it that fills in texts.
import { badRequest } from './errors.js';

const field = /\{\{-?\s*(.*?)\s*-?\}\}/gs;

/** The text to continue. */
export function fillTemplate(template: string, { prompt, system }: { prompt: string; system: string }): string {
    const values = new Map([
        ['.Prompt', prompt],
        ['.System', system],
        ['.Response', ''],
    ]);
    // What stands behind the answer's place is written by nobody.
    const before = template.replace(/\{\{-?\s*\.Response\s*-?\}\}[^]*$/, '');
    return before.replace(field, (whole, name: string) => {
        const value = values.get(name);
        if (value !== undefined) return value;
        const shown = whole.length > 60 ? `${whole.slice(0, 60)}…` : whole;
        throw badRequest(
            `'template' has ${shown}, but only {{ .System }}, {{ .Prompt }} and {{ .Response }} are filled in: leave it out for the model's own`,
        );
    });
}
