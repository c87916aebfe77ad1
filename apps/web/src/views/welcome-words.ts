// The first words somebody reads.
export const title = 'A language model inside this tab';
export const motto = 'Nothing you write leaves this device. It works without a network.';
export const beginnings = 'Ways to begin';
export const stories = ['A story about a brave little fox', 'A dragon who is afraid of fire', 'Who are you?'];
export const questions = ['Explain how tides work, briefly', 'Write a haiku about cut gems', 'Plan a weekend in the mountains'];

export function wordsGoTo(host: string): string {
    return `Your words go to ${host}, and nowhere else.`;
}

export const unknownHost = 'the endpoint in the settings';
