import { useApp } from '../app.js';
import { kindOfType } from '../files/kind.js';
import { answering, dropsAreTaken } from '../files/taking.js';
import { veil } from './drop-words.js';
import { Gem } from './gem.js';

/** What would become of the files that are over the page. */
export function DropVeil({ types }: { types: readonly string[] }) {
    const app = useApp();
    return (
        <div class="drop-target">
            <Gem />
            <p>{veil(types.map(kindOfType), dropsAreTaken(), answering(app))}</p>
        </div>
    );
}
