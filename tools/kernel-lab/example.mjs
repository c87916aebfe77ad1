// What it brings to ask for the first weights before x is ready, and what gelu costs.
export const variants = [
    { name: 'as it is' },
    {
        name: 'nothing asked for early',
        edit: ({ label, constants }) =>
            label.startsWith('gemv') && constants.kPrefetch === 1 ? { constants: { ...constants, kPrefetch: 0 } } : undefined,
    },
    {
        name: 'gelu left out',
        edit: ({ label, code }) =>
            label.startsWith('gemv') && code.includes('return gelu(a) * b;') ? { code: code.replace('return gelu(a) * b;', 'return a * b;') } : undefined,
    },
];
