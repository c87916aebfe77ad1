import type { PartProps } from '../../shell/feature.js';
import { Icon } from '../../views/icons.js';

/** Its name, and all of it for who opens it. */
export function TextFile({ part }: PartProps) {
    if (part.type !== 'text') return null;
    return (
        <details class="attached">
            <summary>
                <Icon name="file" />
                {part.name}
            </summary>
            <pre dir="auto">{part.text}</pre>
        </details>
    );
}
