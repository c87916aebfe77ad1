// Calls of a model that the app can answer itself.
import { runCalls } from 'lapidary';
import type { Tool } from '../shell/feature.js';
import type { Message } from '../store/conversation.js';

/** A model that calls and calls is left to its person. */
const mostRounds = 8;

/**
 * What came of the calls of an answer, in their order. Undefined where not all are the app's, or where there were too many since the
 * last question.
 */
export async function runOwn(
    { toolCalls = [], status }: Message,
    path: readonly Message[],
    tools: readonly Tool[],
): Promise<{ id: string; text: string }[] | undefined> {
    if (status !== 'complete' || toolCalls.length === 0) return undefined;
    if (!toolCalls.every((call) => tools.some(({ name }) => name === call.name))) return undefined;
    const since = path.slice(path.findLastIndex(({ role }) => role === 'user'));
    if (since.filter(({ role }) => role === 'assistant').length >= mostRounds) return undefined;
    return await runCalls(toolCalls, tools, new AbortController().signal);
}
