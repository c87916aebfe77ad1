// What the built-in model says when it is not left to chance: the same in every browser, to the letter.
export const question = 'Tell me a story about a fox';
export const greedy = { temperature: 0, maxTokens: 32, seed: 1 };
export const story = 
    'Once upon a time, there was a little bunny named Benny. Benny loved to play in the forest with his friends. One day, Benny and his friends were playing hide and seek';
