import assert from 'node:assert/strict';

/**
 * Joins texts so that no two different lists give the same result: each is written as its length in UTF-8 bytes, a colon
 * and the text. Without it `['ab', 'c']` and `['a', 'bc']` would hash alike.
 * @throws AssertionError for a lone surrogate: UTF-8 has no form for it, and two such texts would become one.
 */
export function framed(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) text += frame(part);
  return text;
}

/** One text with its length before it. */
export function frame(part: string): string {
  assert(part.isWellFormed(), 'A text to be hashed must not hold a lone surrogate.');
  return `${Buffer.byteLength(part)}:${part}`;
}
