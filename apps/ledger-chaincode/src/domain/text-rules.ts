import { invalid } from './refusal.ts';

/**
 * Lengths count code points. An id and a type are longer than surfaces take them (256 and 128): a driver that keeps several
 * of its channels in one of Fabric puts the channel's name before both.
 */
export const ID_LENGTH = 512;
export const TYPE_LENGTH = 256;
export const OWNER_LENGTH = 256;

const DELETE = 0x7f;

/** @throws Refusal INVALID_REQUEST when it is no text of 1 to `most` code points, or holds U+0000-001F or U+007F. */
export function checkText(value: unknown, where: string, most: number): string {
  if (typeof value !== 'string') throw invalid(`${where} is not a text.`);
  if (!value.isWellFormed()) throw invalid(`${where} holds half of a surrogate pair.`);
  let length = 0;
  for (const character of value) {
    const code = character.codePointAt(0)!;
    if (code < 0x20 || code === DELETE) throw invalid(`${where} holds a control character.`);
    length += 1;
    if (length > most) break;
  }
  if (length === 0 || length > most) throw invalid(`${where} is not 1 to ${most} code points long.`);
  return value;
}
