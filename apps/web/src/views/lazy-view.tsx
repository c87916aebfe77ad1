// A view whose script comes when it is first shown. Nothing is there until then, and nothing if it does not come.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export function lazyView<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
    return function Lazy(props: Props) {
        const [View, setView] = useState<ComponentType<Props>>();
        useEffect(() => {
            let wanted = true;
            load().then(
                (view) => wanted && setView(() => view),
                () => undefined, // without a network, and not kept
            );
            return () => void (wanted = false);
        }, []);
        return View ? <View {...props} /> : null;
    };
}
