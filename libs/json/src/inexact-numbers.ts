import { Bytes } from '#platform';
import { pointerAt } from './pointer-at.ts';
import { isSafeNumber } from './safe-number.ts';

/** A number of a JSON text that a double does not preserve. */
interface InexactNumber {
  readonly token: string;
  /** Its position in the text. */
  readonly start: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The numbers of a valid JSON text that `JSON.parse` would change, in order. Linear time, no recursion. */
export function inexactNumbers(text: string): InexactNumber[] {
  const found: InexactNumber[] = [];
  let at = 0;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at);
    } else if (isPartOfNumber(unit)) {
      const start = at;
      while (isPartOfNumber(text.charCodeAt(at))) at++;
      const token = text.slice(start, at);
      // `e` alone is a part of `true` or `false`.
      if (token !== 'e' && !isSafeNumber(token)) found.push({ token, start });
    } else {
      at++;
    }
  }
  return found;
}

/** The RFC 6901 pointer to the value at a position of a valid JSON text. */
export function pointerIn(text: string, start: number): string {
  return pointerAt(Bytes.from(text, 'utf8'), Bytes.byteLength(text.slice(0, start)));
}

function endOfString(text: string, open: number): number {
  let at = open + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Digits, sign, point and exponent. */
function isPartOfNumber(unit: number): boolean {
  const isDigit = unit >= 0x30 && unit <= 0x39;
  return isDigit || unit === 0x2d || unit === 0x2b || unit === 0x2e || (unit | 0x20) === 0x65;
}
