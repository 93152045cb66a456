import { foldCharacters } from './personal-data.ts';

const CARD_DIGITS_MIN = 13;
/** Maximum length of an IBAN; a longer word, such as a hash, is none. */
const IBAN_LENGTH_MAX = 34;
const [SPACE, PLUS, HYPHEN, DOT, AT, UNDERSCORE, BACKSLASH] = [0x20, 0x2b, 0x2d, 0x2e, 0x40, 0x5f, 0x5c];

/** What a UTF-8 byte can start; most start nothing. */
const [NOTHING, DIGIT, SIGN, FOREIGN] = [0, 1, 2, 3];
const KIND_OF_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x30 && byte <= 0x39) return DIGIT;
  if (byte === AT || byte === PLUS) return SIGN;
  return isLeadOfFolded(byte) ? FOREIGN : NOTHING;
});
const WORD = Uint8Array.from({ length: 256 }, (_, byte) =>
  isLetter(byte) || KIND_OF_BYTE[byte] === DIGIT || byte === UNDERSCORE ? 1 : 0,
);

/**
 * First bytes of characters that `foldCharacters` may change. Those of most Latin, Greek and Cyrillic letters are not
 * among them.
 */
function isLeadOfFolded(byte: number): boolean {
  return byte === 0xc2 || byte === 0xcc || byte === 0xcd || byte === 0xd2 || byte >= 0xd6;
}

const encoder = new TextEncoder();
const BYTES_OF_A_CHARACTER_MAX = 3;
/** Zero bytes after the text: the furthest that any check looks ahead. */
const LOOK_AHEAD = 10;
/** Reused by all calls. Grows to the largest text; pages are bounded. */
let bytes = new Uint8Array(65_536);

/**
 * Version of the personal-data rules, stored with rows in which they found nothing. Raise it with every change that may
 * find more.
 */
export const SCREENING_RULES = 1;

/**
 * Excludes most canonical texts in one pass: without a hit here, `holdsPersonalData` finds nothing in any of their
 * members. The text may be several items joined by commas. Equivalent to the regular expression in its test, applied to
 * the text as it is or folded, and several times faster.
 */
export function mayHoldPersonalData(text: string): boolean {
  const found = look(text);
  if (found !== 'foreign') return found;
  const folded = foldCharacters(text);
  return folded !== text && look(folded) === true;
}

function look(text: string): boolean | 'foreign' {
  const most = text.length * BYTES_OF_A_CHARACTER_MAX + LOOK_AHEAD;
  if (bytes.length < most) bytes = new Uint8Array(most);
  const { written } = encoder.encodeInto(text, bytes);
  bytes.fill(0, written, written + LOOK_AHEAD);
  return lookAtBytes(bytes, written);
}

function lookAtBytes(text: Uint8Array, length: number): boolean | 'foreign' {
  let isForeign = false;
  for (let at = 0; at < length; at += 1) {
    const kind = kindAt(text, at);
    if (kind === NOTHING) continue;
    if (kind === DIGIT) {
      const end = endOfDigits(text, at);
      if (isNumberLike(text, at, end) || opensAccount(text, at, end)) return true;
      at = end - 1;
    } else if (kind === FOREIGN) {
      isForeign = true;
    } else if (text[at] === AT || kindAt(text, at + 1) === DIGIT) {
      return true;
    }
  }
  return isForeign && 'foreign';
}

const kindAt = (text: Uint8Array, at: number): number => KIND_OF_BYTE[text[at]!]!;

function endOfDigits(text: Uint8Array, from: number): number {
  let end = from + 1;
  while (kindAt(text, end) === DIGIT) end += 1;
  return end;
}

/** Whether the digits from here to `end` may be a card number, or a group of some number. */
function isNumberLike(text: Uint8Array, from: number, end: number): boolean {
  if (end - from < 3) return false;
  if (end - from >= CARD_DIGITS_MIN && beginsWord(text, from)) return true;
  const separator = text[end];
  if (!isSeparator(separator) || !areDigits(text, end + 1, 2)) return false;
  if (isSeparator(text[end + 3]) && areDigits(text, end + 4, 4)) return true;
  if (separator === DOT) return end - from >= 4 && areDigits(text, end + 3, 2);
  return kindAt(text, end + 3) === DIGIT;
}

/** Whether an IBAN may start here: country and check digits, then more. The digits run from here to `end`. */
function opensAccount(text: Uint8Array, from: number, end: number): boolean {
  if (end - from < 2 || from < 2 || !isLetter(text[from - 1]!) || !isLetter(text[from - 2]!)) return false;
  if (!beginsWord(text, from - 2)) return false;
  if (end - from === 2 && WORD[text[isSeparator(text[end]) ? end + 1 : end]!] === 0) return false;
  let behind = end;
  while (WORD[text[behind]!] === 1 && behind - from < IBAN_LENGTH_MAX) behind += 1;
  return behind - (from - 2) <= IBAN_LENGTH_MAX;
}

/** Whether a word may start here. In JSON, the letters of an escape sequence are not part of the word. */
function beginsWord(text: Uint8Array, from: number): boolean {
  let at = from - 1;
  if (at < 0 || WORD[text[at]!] === 0) return true;
  while (at > 0 && from - at < 5 && WORD[text[at - 1]!] === 1) at -= 1;
  return at > 0 && text[at - 1] === BACKSLASH;
}

const isSeparator = (byte: number | undefined): boolean => byte === SPACE || byte === HYPHEN || byte === DOT;

function isLetter(byte: number): boolean {
  return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

function areDigits(text: Uint8Array, from: number, count: number): boolean {
  for (let at = from; at < from + count; at += 1) if (kindAt(text, at) !== DIGIT) return false;
  return true;
}
