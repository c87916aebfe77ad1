// A dialect: how some interface spells requests and answers. Pure: what is random, or the time, comes in as `Head`.
import type { AnswerEvent, Ended } from '../answer/events.js';
import type { GenerateRequest } from '../session.js';
import type { Head } from './head.js';

/** A request that was read. `echo` is what the wording of its answer depends on. */
export interface Asked<Echo> {
    request: GenerateRequest;
    stream: boolean;
    echo: Echo;
}

export interface Words<Echo, Piece, Whole> {
    /** Of the names of answers. */
    readonly prefix: string;
    /** A function for each answer: what an event becomes in a stream. */
    pieces(head: Head, echo: Echo): (event: AnswerEvent) => Piece[];
    whole(head: Head, echo: Echo, answer: Ended): Whole;
}

export interface Dialect<Echo, Piece, Whole> extends Words<Echo, Piece, Whole> {
    read(body: unknown): Asked<Echo>;
}
