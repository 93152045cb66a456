import type { Statement } from '@sealgate/storage';

/** Texts that are made of the same parts are few; more than this would be a bug that must not grow without end. */
const MOST_TEXTS = 500;
const names = new Map<string, string>();

/**
 * The statement under a name of its text, so that a connection plans it once: hot reads are built from parts, and each
 * combination is a text of its own.
 */
export function prepared(text: string, values: readonly unknown[]): Statement {
  const known = names.get(text);
  if (known !== undefined) return { name: known, text, values };
  if (names.size >= MOST_TEXTS) return { text, values };
  const name = `risk read ${names.size + 1}`;
  names.set(text, name);
  return { name, text, values };
}
