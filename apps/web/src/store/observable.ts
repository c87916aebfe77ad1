// A value that can be watched. The app's state is a handful of these; views subscribe with `useObserved`.
import { useEffect, useState } from 'preact/hooks';

export class Observable<T> {
    private readonly listeners = new Set<(value: T) => void>();

    constructor(private current: T) {}

    get value(): T {
        return this.current;
    }

    set(value: T): void {
        if (Object.is(value, this.current)) return;
        this.current = value;
        for (const listener of [...this.listeners]) listener(value);
    }

    update(change: Partial<T>): void {
        this.set({ ...this.current, ...change });
    }

    subscribe(listener: (value: T) => void): () => void {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }
}

export function useObserved<T>(observable: Observable<T>): T {
    const [value, setValue] = useState(() => observable.value);
    useEffect(() => {
        // It may have changed between drawing and subscribing.
        setValue(() => observable.value);
        return observable.subscribe((next) => setValue(() => next));
    }, [observable]);
    return value;
}
