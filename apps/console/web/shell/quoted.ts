/** Right-to-left letters, and bidirectional control characters. */
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;

/**
 * Isolates a name within a sentence, so that its direction does not reorder the surrounding words (UAX #9, first strong
 * isolate).
 */
export const isolated = (name: string): string => (TURNS.test(name) ? `\u2068${name}\u2069` : name);

export const quoted = (name: string): string => `“${isolated(name)}”`;
