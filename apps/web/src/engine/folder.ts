// A folder of Ollama's that the person picked. Loaded when someone does: most people never do.
import { ListedDirectory, OllamaStore, PickedDirectory, type ListedModel } from 'lapidary';

/** Where a browser cannot open folders, they are the list of their files. */
export async function listFolder(directory: FileSystemDirectoryHandle | readonly File[]): Promise<ListedModel[]> {
    return await new OllamaStore('kind' in directory ? await PickedDirectory.find(directory) : ListedDirectory.find(directory)).list();
}
