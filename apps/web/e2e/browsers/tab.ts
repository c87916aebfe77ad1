// What every browser can do for a test, however it is driven: open tabs and run JavaScript in them.

export interface Tab {
    goto(url: string): Promise<void>;
    /** `code` is an expression; a promise is waited for. The result goes through JSON. */
    run(code: string): Promise<unknown>;
    close(): Promise<void>;
}

export interface AnyBrowser {
    newTab(): Promise<Tab>;
    /** What the browser itself complained about in any tab: exceptions, errors in the console. Empty where it does not tell. */
    readonly complaints: string[];
    close(): Promise<void>;
    /** Ends it as a crash would, with all tabs at once. */
    kill(): Promise<void>;
}

export interface LaunchOptions {
    /** WebGPU in software. */
    gpu?: boolean;
    /** A folder in which the browser keeps what it keeps; it has none, and no past, unless told. */
    profile?: string;
}

export interface Kind {
    name: string;
    /** Why it cannot be used here. */
    missing: string | false;
    launch(options?: LaunchOptions): Promise<AnyBrowser>;
}
