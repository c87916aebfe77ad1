// How to train: checked, with a name for everything that is wrong.
import { Fields, defined } from '../dialects/fields.js';

export const targets = ['q', 'k', 'v', 'o', 'gate', 'up', 'down'] as const;
export type Target = (typeof targets)[number];

/** What is left out, the engine decides. */
export interface TrainSettings {
    /** Of the updates: 16 unless told. More can learn more, and takes more memory. */
    rank?: number;
    /** The updates are multiplied by alpha / rank: twice the rank unless told. */
    alpha?: number;
    /** The matrices that are updated, in every layer: all of them unless told. */
    targets?: readonly Target[];
    /** The highest learning rate: 2e-4 unless told. */
    lr?: number;
    schedule?: 'constant' | 'linear' | 'cosine';
    /** Share of the steps in which the learning rate grows from nothing. */
    warmup?: number;
    /** How often every example is seen: 1 unless told. */
    epochs?: number;
    /** Ends earlier, after so many steps. */
    steps?: number;
    /** Examples that make one step. */
    batch?: number;
    /** Tokens of a sequence: examples may have as many, and short ones share one. */
    seq?: number;
    weightDecay?: number;
    /** Of all gradients together: larger ones are made this large. 0 leaves them. */
    clipNorm?: number;
    /** Share of an adapter's inputs that are left out at random. */
    dropout?: number;
    /** Share of the examples that are kept back, to see whether what is learnt holds for others too. */
    validation?: number;
    /** Computes activations a second time instead of keeping them: slower, with much less memory. */
    checkpointing?: boolean;
    seed?: number;
    /** Texts a person may say: what the model answers is told now and then. */
    samples?: readonly string[];
    /** Steps between two rounds of samples, and between two validations. */
    every?: number;
}

export function checkSettings(value: unknown): TrainSettings {
    const fields = new Fields(value);
    const list = <Item extends string>(name: string, one: (item: Fields) => Item | undefined): Item[] | undefined =>
        fields.list(name)?.flatMap((item) => one(new Fields({ [name]: item })) ?? []);
    return defined({
        rank: fields.integer('rank', 1, 256),
        alpha: fields.number('alpha', 1e-3, 1e5),
        targets: list('targets', (item) => item.oneOf('targets', targets)),
        lr: fields.number('lr', 0, 1),
        schedule: fields.oneOf('schedule', ['constant', 'linear', 'cosine']),
        warmup: fields.number('warmup', 0, 1),
        epochs: fields.integer('epochs', 1, 10_000),
        steps: fields.integer('steps', 1, 10_000_000),
        batch: fields.integer('batch', 1, 4096),
        seq: fields.integer('seq', 8, 131_072),
        weightDecay: fields.number('weightDecay', 0, 10),
        clipNorm: fields.number('clipNorm', 0, 1e6),
        dropout: fields.number('dropout', 0, 0.9),
        validation: fields.number('validation', 0, 0.5),
        checkpointing: fields.boolean('checkpointing'),
        seed: fields.integer('seed', 0, 2 ** 52),
        samples: list('samples', (item) => item.string('samples')),
        every: fields.integer('every', 1, 1_000_000),
    });
}
