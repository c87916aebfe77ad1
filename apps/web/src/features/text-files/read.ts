import { longestText } from '../../files/kind.js';
import type { Part } from '../../store/parts.js';
import { textTooLong } from '../../views/drop-words.js';

export async function read(file: File): Promise<Part[]> {
    if (file.size > longestText) throw new Error(textTooLong(file.name, file.size, longestText));
    return [{ type: 'text', name: file.name, text: await file.text() }];
}
