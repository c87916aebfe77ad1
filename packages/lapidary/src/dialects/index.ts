// `lapidary/dialects`: requests and answers in the words of other interfaces, for servers. Pure functions.
export { eventsOf, ResponseWords, responsesPrefix, type ResponseEvent } from './openai-responses.js';
export { readResponses, type AskedResponse, type Memory, type ResponsesEcho } from './openai-responses-request.js';
export { openAiChat, type ChatEcho } from './openai-chat.js';
export { newHead, type Head } from './head.js';
export { Fields } from './fields.js';
export { samplingOf } from './sampling.js';
export { streamOf } from '../answer/stream.js';
export { newId } from '../answer/events.js';
export type { AnswerEvent, Call, End, Ended, Score } from '../answer/events.js';
export { messagePieces, messagesPrefix, wholeMessage, type MessageEvent } from './anthropic.js';
export { readMessages, type AskedMessage, type MessagesEcho } from './anthropic-request.js';
export { members as ollamaMembers, nanoseconds, ollamaEnd, ollamaPieces, wholeOllama, type OllamaKind } from './ollama.js';
export { checkCompletion } from './openai-completions-request.js';
export { inputOf } from './tools.js';
