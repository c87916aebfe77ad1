// Products whose workgroups go from row to row: through how many sets of rows it should be. Few workgroups keep x longer,
// but all of them should be on the GPU at a time, or many more.
const tried = [2, 3, 4, 5, 8, 12, 16, 17, 18, 20, 21, 22, 24];

export const variants = [
    { name: 'as it is' },
    ...tried.map((sets) => ({
        name: `${sets} sets`,
        edit: ({ constants, grid }) =>
            constants.kSets > 1
                ? {
                      constants: { ...constants, kSets: sets, kSumsKept: Math.max(16, (sets * constants.kThreads) / 32) },
                      grid: [Math.ceil((grid[0] * constants.kSets) / sets), 1, 1],
                  }
                : undefined,
    })),
];
