// Models that are somewhere already: a file, Ollama's folder, Hugging Face, an address, another server.
import type { Probe } from 'lapidary';
import { useRef, useState } from 'preact/hooks';
import { useApp } from '../../app.js';
import type { Library } from './library.js';
import { hrefOf } from '../../router.js';
import { Icon, type IconName } from '../../views/icons.js';
import { FolderPanel, folderKind } from './folder.js';
import { HubPanel } from './hub-search.js';
import * as words from './words.js';

type Opened = 'folder' | 'hub' | undefined;

export function BringYourOwn({ probe, library }: { probe: Probe | undefined; library: Library }) {
    const [opened, setOpened] = useState<Opened>();
    const toggle = (which: Opened) => setOpened(opened === which ? undefined : which);
    return (
        <section>
            <div class="section-head">
                <h2>{words.bringYourOwn}</h2>
                <span class="faint not-touch">{words.dropAnywhere}</span>
            </div>
            <div class="ways">
                <FileWay />
                {folderKind() && (
                    <Way icon="folder" title={words.ollamaFolder} about={words.ollamaFolderAbout} open={opened === 'folder'} onClick={() => toggle('folder')} />
                )}
                <Way icon="search" title={words.huggingFace} about={words.huggingFaceAbout} open={opened === 'hub'} onClick={() => toggle('hub')} />
                <a class="way" href={hrefOf({ page: 'settings' })}>
                    <WayInside icon="globe" title={words.anotherServer} about={words.anotherServerAbout} />
                </a>
            </div>
            {opened === 'folder' && <FolderPanel probe={probe} />}
            {opened === 'hub' && <HubPanel probe={probe} library={library} />}
        </section>
    );
}

interface WayProps {
    icon: IconName;
    title: string;
    about: string;
}

function WayInside({ icon, title, about }: WayProps) {
    return (
        <>
            <Icon name={icon} />
            <span>
                <b>{title}</b>
                <span>{about}</span>
            </span>
        </>
    );
}

function Way({ open, onClick, ...inside }: WayProps & { open: boolean; onClick: () => void }) {
    return (
        <button type="button" class="way" aria-expanded={open} onClick={onClick}>
            <WayInside {...inside} />
        </button>
    );
}

type FilePicker = (options: object) => Promise<FileSystemFileHandle[]>;

function FileWay() {
    const app = useApp();
    const input = useRef<HTMLInputElement>(null);
    const pick = async () => {
        const picker = (globalThis as { showOpenFilePicker?: FilePicker }).showOpenFilePicker;
        // Where the browser gives handles, the file can be opened again at the next visit.
        if (!picker) return input.current?.click();
        try {
            const handles = await picker({ multiple: true, id: 'model' });
            app.loadFiles(await Promise.all(handles.map(async (handle) => await handle.getFile())), handles);
        } catch {
            // They changed their mind.
        }
    };
    return (
        <>
            <input
                ref={input}
                type="file"
                multiple
                hidden
                aria-label={words.modelFile}
                onChange={({ currentTarget }) => {
                    const files = [...(currentTarget.files ?? [])];
                    if (files.length > 0) app.loadFiles(files);
                    currentTarget.value = '';
                }}
            />
            <button type="button" class="way" onClick={() => void pick()}>
                <WayInside icon="file" title={words.aFile} about={words.aFileAbout} />
            </button>
        </>
    );
}
