// Something that takes a while and may fail, started by a person or by showing a view.
import { useEffect, useRef, useState } from 'preact/hooks';
import { sentence } from '../chat/answer.js';
import { isAbort } from '../chat/backend.js';

export interface Task<T> {
    running: boolean;
    result: T | undefined;
    problem: string | undefined;
    run: (work: (signal: AbortSignal) => Promise<T>) => void;
    stop: () => void;
    clear: () => void;
}

export function useTask<T>(): Task<T> {
    const [running, setRunning] = useState(false);
    const [result, setResult] = useState<T>();
    const [problem, setProblem] = useState<string>();
    const current = useRef<AbortController>();
    useEffect(() => () => current.current?.abort(), []);
    const run = (work: (signal: AbortSignal) => Promise<T>) => {
        current.current?.abort();
        const controller = new AbortController();
        current.current = controller;
        const mine = () => current.current === controller;
        setRunning(true);
        setProblem(undefined);
        work(controller.signal)
            .then(
                (value) => mine() && setResult(() => value),
                (error: unknown) => mine() && !isAbort(error) && setProblem(sentence(error)),
            )
            .finally(() => mine() && setRunning(false));
    };
    const clear = () => {
        setResult(undefined);
        setProblem(undefined);
    };
    return { running, result, problem, run, stop: () => current.current?.abort(), clear };
}
