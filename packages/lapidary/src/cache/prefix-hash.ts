// SHA-256 of a file whose chunks come in any order: those that come in order are hashed on the way, the rest is read
// back from disk at the end.
import { newSha256 } from './hasher.js';

export class PrefixHash {
    /** The next chunk the hash needs. */
    next = 0;
    private readonly hash = newSha256();

    offer(index: number, bytes: Uint8Array): void {
        if (index !== this.next) return;
        this.hash.update(bytes);
        this.next++;
    }

    digest(): string {
        return this.hash.digest();
    }
}
