// SHA-256 of a file whose chunks come in any order: those that come in order are hashed on the way, the rest is read
// back from disk at the end.
import { createSHA256 } from 'hash-wasm';

type Hasher = Awaited<ReturnType<typeof createSHA256>>;

export class PrefixHash {
    /** The next chunk the hash needs. */
    next = 0;

    private constructor(private readonly hasher: Hasher) {}

    static async begin(): Promise<PrefixHash> {
        return new PrefixHash(await createSHA256());
    }

    offer(index: number, bytes: Uint8Array): void {
        if (index !== this.next) return;
        this.hasher.update(bytes);
        this.next++;
    }

    digest(): string {
        return this.hasher.digest('hex');
    }
}
