import { isDeepStrictEqual } from 'node:util';

/** What the inspector printed with `--format json`: a result, an error of its own, or both. */
export interface InspectorAnswer {
  readonly exitCode: number;
  readonly result: unknown;
  /** Its code for what went wrong, and its message. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

/** One call of the inspector, and what has to come of it. */
export interface InspectorCase {
  readonly name: string;
  readonly shows: string;
  /** After the address and the key. */
  readonly parameters: readonly string[];
  /** The header that carries the key, where it is not the right one. */
  readonly authorization?: string | undefined;
  /** 0 a result, 1 an error, 3 the key was not taken, 5 a tool refused or is not there. */
  readonly exitCode: 0 | 1 | 3 | 5;
  /** What is not as it should be, in words; undefined where all is. */
  readonly fault: (answer: InspectorAnswer) => string | undefined;
}

export function memberOf(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) found = typeof found === 'object' && found !== null ? Object(found)[name] : undefined;
  return found;
}

/** Words for two values that should be the same. */
export function unlike(found: unknown, expected: unknown): string | undefined {
  if (isDeepStrictEqual(found, expected)) return undefined;
  const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 300);
  return `Expected ${shown(expected)}, found ${shown(found)}.`;
}

/** Words for an error whose message lacks what it should say. */
export function unsaid({ error }: InspectorAnswer, code: string, words: string): string | undefined {
  if (error?.code === code && error.message.includes(words)) return undefined;
  return `Expected the error ${code} with “${words}”, found ${JSON.stringify(error)}.`;
}
