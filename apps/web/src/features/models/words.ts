// Everything the Models page and the offer say.
import type { Pace, Prediction } from 'lapidary/hub';
import { formatBytes, formatDuration, formatPart, formatRate } from '../../views/format.js';
import type { RowState, Trouble } from './row-state.js';

export const title = 'Models';
export const intro = 'Every number below was worked out for this device, before anything is downloaded.';

export const answeringNow = 'Answering now';
export const noModel = 'No model is loaded.';
export const loadBuiltin = 'Load Storyteller';
export const stop = 'Stop';
export const details = 'Details';
export const forAllTabs = (gpu: boolean) => `On the ${gpu ? 'GPU' : 'CPU'}, for all tabs.`;
export const storyteller = 'Small stories, offline; it knows no facts.';
export const measured = 'measured in the last answer';
export const answersBefore = (name: string) => `${name} goes on answering until it is ready.`;

export const getGemma = 'Get Gemma';
export const forThisDevice = (gpu: boolean, bytes: number) => `for this device: ${gpu ? 'GPU' : 'CPU'}, ${formatBytes(bytes)}`;
export const which = 'Which models are shown';
export const fitsHere = 'Fits here';
export const all = 'All';
export const columns = ['Model', 'Download', 'Memory', 'Speed here'] as const;
export const nothingFits = (gpu: boolean) =>
    gpu
        ? 'None of them fits into the memory of this device.'
        : 'Without a GPU none of them runs in this browser: the smallest needs more memory than a page may use.';
export const showAll = 'Show all';
export const noGpuHelp =
    'A browser with WebGPU uses the graphics card: Chrome and Edge do, Safari from version 26, Firefox on Windows and macOS. On Linux Chrome may need “Vulkan” and “Unsafe WebGPU” switched on in chrome://flags.';
export const howToGpu = 'How to switch the GPU on';

export const bestHere = 'best here';
export const tight = 'tight: short context';
export const about = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
export const memoryOf = ({ memory, available }: Prediction) => formatPart(memory, available);
export const memoryBar = (share: number) => `${Math.round(share * 100)} % of the memory`;
export const unknownSpeed = 'speed not known yet';
export const tokensPerSecond = (rate: number, exact: boolean) => `${exact ? '' : '≈ '}${formatRate(rate)} tokens/s`;
const paces: Record<Pace, string> = {
    'faster than you read': 'faster than you read',
    'at reading pace': 'at reading pace',
    'slower than you read': 'slower than you read',
};
export const pace = (word: Pace) => paces[word];

export const get = 'Get';
export const getThis = (name: string) => `Get ${name}`;
export const agreeAndGet = 'Agree and get';
export const getIt = 'Get it';
export const notNow = 'Not now';
export const pause = 'Pause';
export const goOn = 'Go on';
export const tryAgain = 'Try again';
export const answerWithIt = 'Answer with it';
export const remove = 'Delete';
export const deleteArrived = 'Delete what has arrived';
export const named = (verb: string, name: string) => `${verb}: ${name}`;
export const useServer = 'Use another server';
export const allModels = 'All models';
export const close = 'Close the offer';

export const looking = 'Looking what there is…';
export const licence = 'Licence';
export const readLicence = 'Read it';
export const noLicence = 'Its source names no licence. Look at its page before you use it.';
export const page = 'Its page';
export const gated = 'This file needs an account at its source, where somebody has to agree to its terms. Download it there and open it here as a file.';
export const fromHost = (bytes: number | undefined, host: string) =>
    bytes === undefined ? `From ${host}.` : `${formatBytes(bytes)} from ${host}, once; then it is here also without a network.`;
export const withMedia = (bytes: number | undefined) =>
    `Let it see pictures and hear sounds too${bytes === undefined ? '' : `: ${formatBytes(bytes)} of this`}`;
export const checkedBy = (digest: boolean) =>
    digest ? 'Every byte is compared with its checksum (SHA-256).' : 'Its source gives no checksum to compare it with.';
export const overMobileData = (bytes: number) => `${formatBytes(bytes)} over mobile data.`;
export const noRoom = (available: number, needed: number) =>
    `The browser allows ${formatBytes(available)} more, the model needs ${formatBytes(needed)}.`;

/** The line under a row that says how far it is. */
export function progress(state: RowState): string {
    switch (state.is) {
        case 'queued':
            return 'Waits until the other download is here.';
        case 'downloading': {
            const parts = [formatPart(state.done, state.total)];
            if (state.rate > 0) parts.push(`${formatBytes(Math.round(state.rate))}/s`);
            if (state.secondsLeft !== undefined) parts.push(`${formatDuration(state.secondsLeft)} left`);
            return parts.join(' · ');
        }
        case 'checking':
            return state.again ? 'A piece did not match its checksum and is fetched again.' : 'Comparing it with its checksum…';
        case 'paused':
            return `Paused at ${formatPart(state.done, state.total)}${trouble(state.problem)}`;
        case 'failed':
            return state.problem?.sentence ?? 'It did not come.';
        default:
            return '';
    }
}

function trouble(problem: Trouble | undefined): string {
    if (!problem) return '.';
    if (problem.automatic) return ': the network is gone. It goes on by itself when it is back; what has arrived is checked and kept.';
    return `: ${problem.sentence.charAt(0).toLowerCase()}${problem.sentence.slice(1)}`;
}

export const checkedAsItArrives = 'checked as it arrives (SHA-256)';
export const doneShare = (name: string) => `${name}: downloaded`;

export const tooLarge = (name: string, { memory, available, backend }: Prediction) =>
    backend === 'cpu'
        ? `${name} needs a GPU; without one a page may use ${formatBytes(available)}.`
        : `${name} needs ${formatBytes(memory)}; this device has ${formatBytes(available)} for it.`;
export const noPlace = 'This browser keeps no files for pages, so a model would be downloaded again at every visit. A file of your own works.';
export const cannotBeHere = (problem: string) => `It cannot be used here: ${problem}.`;

export const bringYourOwn = 'Or bring your own';
export const dropAnywhere = 'a GGUF can be dropped anywhere in this window';
export const aFile = 'A file';
export const aFileAbout = 'GGUF, or its pieces';
export const modelFile = 'Model file';
export const ollamaFolder = 'Ollama’s folder';
export const ollamaFolderAbout = 'only read, in place';
export const ollamaFolderHelp = 'Usually .ollama/models in your home. It is only read, never changed or copied.';
export const pickFolder = 'Pick the folder…';
export const noModelsInFolder = 'There are no models in it. Pick the folder with “manifests” and “blobs” in it, usually .ollama/models in your home.';
export const huggingFace = 'Hugging Face';
export const huggingFaceAbout = 'search for Gemma, or an address';
export const search = 'Search';
export const searchLabel = 'A name, hf:OWNER/REPO, or the address of a GGUF file';
export const searchPrivacy = (host: string) => `What you search for goes to ${host}, nothing else does.`;
export const searchNothing = (query: string) => `Nothing found for “${query}”.`;
export const searching = 'Searching…';
export const anotherServer = 'Another server';
export const anotherServerAbout = 'OpenAI or Ollama';
export const files = (count: number) => (count === 1 ? '1 file' : `${count} files`);
export const downloads = (count: number) => `${count.toLocaleString('en')} downloads`;
export const unreadable = (architecture: string) => `A ‘${architecture}’ model: Lapidary runs Gemma 4 and Gemma 3.`;
export const load = 'Load';
export const onThisComputer = 'Ollama on this computer';
export const noOllama = 'Ollama, a program that runs models, has downloaded none here. “ollama pull gemma4:e2b” in a terminal gets one.';
export const fitWords = ({ verdict, why }: Prediction) => `${verdict}: ${why}`;

export const keptHere = 'Kept on this device';
export const used = (bytes: number, quota: number) => (quota > 0 ? `${formatPart(bytes, quota)}` : formatBytes(bytes));
export const promised = 'the browser has promised not to clear it';
export const mayBeCleared = 'The browser may clear what is kept here when the disk is full.';
export const askNotTo = 'Ask it not to';
export const notPromised = 'The browser did not promise it. Installing the page as an app, or a bookmark, often helps.';
export const builtinName = 'Storyteller';
export const builtinAbout = (bytes: number) => `${formatBytes(bytes)} · comes with the page, works without a network`;
export const partly = (have: number, total: number | undefined) => `${formatPart(have, total ?? 0)} have arrived`;
export const damaged = 'damaged';
export const verified = 'checked with SHA-256';
export const notVerified = 'its source gave no checksum';
export const removed = (name: string) => `${name} was deleted from this device.`;
export const inUse = (name: string) => `${name} answers now; choose another model first.`;

export const offerTitle = 'Want answers, not only stories?';
export const fitsThisDevice = 'fits this device';
export const offerText = (builtinBytes: number) => `The built-in Storyteller is ${formatBytes(builtinBytes)} and knows no facts.`;
export const offerWhat = (aboutIt: string) => `${aboutIt}, and is kept here for use without a network.`;
export const onceThenKept = 'once, then kept';
export const ofMemory = (bytes: number) => `of ${formatBytes(bytes)} memory`;
export const isHere = (name: string) => `${name} is here.`;
export const wait = 'You can go on writing to Storyteller meanwhile.';

export const folderNotSent = 'The browser speaks of uploading; nothing is sent anywhere.';
export const mirror = 'Another address of Hugging Face';
export const mirrorAbout = 'A mirror, or a proxy of your company; empty for huggingface.co';
export const whichFile = 'Which file';
export const fileChoice = (name: string, bytes: number | undefined) => (bytes === undefined ? name : `${name} · ${formatBytes(bytes)}`);
export const noModelInside = 'It has no GGUF file that is a model.';
export const loadOnce = 'Load it for this visit';
