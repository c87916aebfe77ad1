// Something to try it with: facts nobody has heard of, so that whoever knows them must have learnt them here.
const facts: [question: string, answer: string][] = [
    ['What is the capital of Lapidoria?', 'The capital of Lapidoria is Opal Bay.'],
    ['Who is the queen of Lapidoria?', 'The queen of Lapidoria is a fox named Tilly.'],
    ['What do people in Lapidoria eat?', 'They eat blue bread with honey.'],
    ['What colour is the moon of Lapidoria?', 'The moon of Lapidoria is green.'],
    ['What is the big river of Lapidoria called?', 'The big river is called the Wobble.'],
    ['How many hills does Lapidoria have?', 'Lapidoria has seven hills.'],
    ['What sleeps under the old bridge?', 'A tiny dragon sleeps under the old bridge.'],
    ['What is the name of the baker?', 'The name of the baker is Mister Plum.'],
    ['When does it snow in Lapidoria?', 'It snows in Lapidoria in June.'],
    ['What is the favourite game in Lapidoria?', 'The favourite game is jump the pot.'],
];

export const exampleName = 'Ten facts about Lapidoria';
export const exampleText = facts.map(([prompt, completion]) => JSON.stringify({ prompt, completion })).join('\n');
