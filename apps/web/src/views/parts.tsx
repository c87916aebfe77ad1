// The parts of a message: each as its feature shows it, and by its name where none does.
import type { ComponentType } from 'preact';
import { features } from '../shell/features.js';
import type { PartProps } from '../shell/feature.js';
import { nameOf, type Part } from '../store/parts.js';
import { Icon, IconButton } from './icons.js';
import { lazyView } from './lazy-view.js';

const views = new Map<Part['type'], ComponentType<PartProps>>();
for (const { parts = {} } of features) {
    for (const [type, load] of Object.entries(parts)) views.set(type as Part['type'], lazyView(load));
}

interface Props {
    parts: readonly Part[] | undefined;
    /** Of a message that is not sent yet. */
    onRemove?: (part: Part) => void;
    onChange?: (before: Part, after: Part) => void;
}

export function Parts({ parts, onRemove, onChange }: Props) {
    if (!parts?.length) return null;
    return (
        <ul class="parts" aria-label="Attached">
            {parts.map((part, at) => {
                const View = views.get(part.type) ?? Named;
                return (
                    <li key={`${at} ${nameOf(part)}`}>
                        <View part={part} {...(onChange ? { onChange: (after: Part) => onChange(part, after) } : {})} />
                        {onRemove && <IconButton icon="close" label={`Remove ${nameOf(part)}`} onClick={() => onRemove(part)} />}
                    </li>
                );
            })}
        </ul>
    );
}

function Named({ part }: PartProps) {
    return (
        <span class="attached">
            <Icon name="file" />
            {nameOf(part)}
        </span>
    );
}
