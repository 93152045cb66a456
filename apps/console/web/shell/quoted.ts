/** Letters that run from right to left, and characters that turn what follows. */
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;

/** A name within a sentence: whichever way it runs, the words around it stay where they are (UAX #9, first strong isolate). */
export const isolated = (name: string): string => (TURNS.test(name) ? `\u2068${name}\u2069` : name);

export const quoted = (name: string): string => `“${isolated(name)}”`;
