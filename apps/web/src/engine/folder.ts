// A folder of Ollama's that the person picked. Loaded when someone does: most people never do.
import { OllamaStore, PickedDirectory, type ListedModel } from 'lapidary';

export async function listFolder(directory: FileSystemDirectoryHandle): Promise<ListedModel[]> {
    return await new OllamaStore(await PickedDirectory.find(directory)).list();
}
