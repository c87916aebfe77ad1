// `lapidary/storyteller`: the address of the built-in model, for pages. A door of its own, because a bundler takes the
// 20 MB along wherever it sees this line.
export const storyteller = new URL('./storyteller-q4_k_m.gguf', import.meta.url);
