// What ends a command early, and with which exit status.

/** The command was called wrongly: status 2, as shells and most tools do it. */
export class UsageError extends Error {
    override readonly name = 'UsageError';
}

export const exitStatus = { failure: 1, usage: 2, interrupted: 130, terminated: 143 } as const;
