// What people call a digest.
import { LapidaryError } from '../error.js';

/** A model in pieces has a digest for each, so one says nothing. */
export function manyDigests(pieces: number): LapidaryError {
    return new LapidaryError('invalid_argument', `a model of ${pieces} pieces has more than one SHA-256`);
}

/** 64 lowercase digits, from text with or without Ollama's prefix. */
export function parseDigest(text: string): string {
    const match = /^(?:sha256[:-])?([0-9a-fA-F]{64})$/.exec(text);
    if (!match?.[1]) throw new LapidaryError('invalid_argument', `'${text}' is not a SHA-256 digest: 64 hexadecimal digits`);
    return match[1].toLowerCase();
}
