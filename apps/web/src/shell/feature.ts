// What a feature of the app says about itself. The shell and the chat know no more of it than this, and features know nothing
// of each other; what is heavy is loaded when it is used.
import type { ComponentType } from 'preact';
import type { EngineInfo, Probe, Tool as EngineTool } from 'lapidary';
import type { FileKind } from '../files/kind.js';
import type { Page } from '../router.js';
import type { Part } from '../store/parts.js';
import type { IconName } from '../views/icons.js';

export interface Feature {
    id: string;
    /** A page of its own, which the sidebar leads to. */
    page?: { path: Page; label: string; icon: IconName; load(): Promise<ComponentType<PageProps>> };
    /** Cards among the settings. */
    settings?(): Promise<ComponentType>;
    /** What stands below the first words on a device that could do more. */
    offer?(): Promise<ComponentType<{ probe: Probe }>>;
    /** Files it makes parts of messages. */
    attach?: readonly Attacher[];
    rail?: Rail;
    /** What a model may call; asked when a chat uses tools. */
    tools?(): Promise<readonly Tool[]>;
    /** How a message shows its parts. */
    parts?: Partial<Record<Part['type'], () => Promise<ComponentType<PartProps>>>>;
}

export interface PageProps {
    onMenu: () => void;
}

/** What is known of a file before it is read: its kind by its first bytes. */
export interface Offered {
    kind: FileKind;
    name: string;
    type: string;
}

export interface Attacher {
    /** `answering`: the model that would read it; undefined for one elsewhere, and while none is loaded. */
    accepts(file: Offered, answering: EngineInfo | undefined): boolean;
    load(): Promise<{ read(file: File, signal: AbortSignal, sample: SampleFrames): Promise<Part[]> }>;
}

/** Which of a film's frames the model that answers looks at, and when they are. */
export type SampleFrames = (film: { frames: number; fps: number }, signal: AbortSignal) => Promise<{ indices: number[]; seconds: number[] }>;

export interface PartProps {
    part: Part;
    /** Of a message that is not sent yet. */
    onChange?: (part: Part) => void;
}

/** Buttons beside the text. */
export interface Rail {
    /** Whether the model that answers has a use for them. */
    shows(answering: EngineInfo | undefined): boolean;
    load(): Promise<ComponentType>;
}

/** What a model may call, as the library runs it. */
export interface Tool extends EngineTool {
    /** For people, in the settings. */
    title: string;
}
