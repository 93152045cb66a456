const CARD_DIGITS_MIN = 13;
const [SPACE, PLUS, HYPHEN, AT, UNDERSCORE] = [0x20, 0x2b, 0x2d, 0x40, 0x5f];

/** What a byte of UTF-8 may begin here; most begin nothing. */
const [NOTHING, DIGIT, CAPITAL, SIGN] = [0, 1, 2, 3];
const KIND_OF_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x30 && byte <= 0x39) return DIGIT;
  if (byte >= 0x41 && byte <= 0x5a) return CAPITAL;
  return byte === AT || byte === PLUS ? SIGN : NOTHING;
});

const encoder = new TextEncoder();
const BYTES_OF_A_CHARACTER_MAX = 3;
/** Behind a text there are as many zeroes as anything here looks ahead. */
const LOOK_AHEAD = 10;
/** Used again by each call. Grows to the largest text, and pages are bounded. */
let bytes = new Uint8Array(65_536);

/**
 * Sorts out most canonical texts at the price of one walk: without a hit here, none of their fields holds what
 * `holdsPersonalData` looks for. Many texts may be one, joined by commas. It finds exactly what this expression finds:
 * `/@|\+\d|\d{3}-\d{2}-\d{4}|\d{3}[ -]\d{3}|(?<!\w)\d{13}|[A-Z]{2}\d{2} ?[A-Z0-9]/`, and is several times faster.
 */
export function mayHoldPersonalData(text: string): boolean {
  const most = text.length * BYTES_OF_A_CHARACTER_MAX + LOOK_AHEAD;
  if (bytes.length < most) bytes = new Uint8Array(most);
  const { written } = encoder.encodeInto(text, bytes);
  bytes.fill(0, written, written + LOOK_AHEAD);
  return hasHit(bytes, written);
}

function hasHit(text: Uint8Array, length: number): boolean {
  for (let at = 0; at < length; at += 1) {
    const kind = kindAt(text, at);
    if (kind === NOTHING) continue;
    if (kind === DIGIT) {
      const end = endOfDigits(text, at);
      if (isNumberLike(text, at, end)) return true;
      at = end - 1;
    } else if (kind === CAPITAL) {
      if (opensAccount(text, at)) return true;
    } else if (text[at] === AT || kindAt(text, at + 1) === DIGIT) {
      return true;
    }
  }
  return false;
}

const kindAt = (text: Uint8Array, at: number): number => KIND_OF_BYTE[text[at]!]!;

function endOfDigits(text: Uint8Array, from: number): number {
  let end = from + 1;
  while (kindAt(text, end) === DIGIT) end += 1;
  return end;
}

/** All digits from here to `end`: a card's, or a group of some number. */
function isNumberLike(text: Uint8Array, from: number, end: number): boolean {
  if (end - from < 3) return false;
  if (end - from >= CARD_DIGITS_MIN && (from === 0 || !isWord(text[from - 1]!))) return true;
  const separator = text[end];
  if ((separator !== HYPHEN && separator !== SPACE) || !areDigits(text, end + 1, 2)) return false;
  if (kindAt(text, end + 3) === DIGIT) return true;
  return separator === HYPHEN && text[end + 3] === HYPHEN && areDigits(text, end + 4, 4);
}

function isWord(byte: number): boolean {
  const kind = KIND_OF_BYTE[byte];
  return kind === DIGIT || kind === CAPITAL || byte === UNDERSCORE || (byte >= 0x61 && byte <= 0x7a);
}

function areDigits(text: Uint8Array, from: number, count: number): boolean {
  for (let at = from; at < from + count; at += 1) if (kindAt(text, at) !== DIGIT) return false;
  return true;
}

/** Country and check digits, and something behind them. */
function opensAccount(text: Uint8Array, at: number): boolean {
  if (kindAt(text, at + 1) !== CAPITAL || !areDigits(text, at + 2, 2)) return false;
  const kind = kindAt(text, text[at + 4] === SPACE ? at + 5 : at + 4);
  return kind === CAPITAL || kind === DIGIT;
}
