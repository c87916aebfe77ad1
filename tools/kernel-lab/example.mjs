// What it brings to ask for the first weights before x is ready, and what gelu costs.
export const variants = [
    { name: 'as it is' },
    {
        name: 'nothing asked for early',
        edit: ({ label, constants }) =>
            label.startsWith('gemv') && constants.kAhead === 1 ? { constants: { ...constants, kAhead: 0 } } : undefined,
    },
    {
        name: 'gelu left out',
        edit: ({ label, code }) =>
            label.startsWith('gemv') && code.includes('v=gelu(a)*b;') ? { code: code.replace('v=gelu(a)*b;', 'v=a*b;') } : undefined,
    },
];
