/** Every decimal of so many digits, within the range of normal doubles, is told apart from all others by its double. */
const ALWAYS_SAFE_DIGITS = 15;
/** The shortest form that tells a double apart never needs more digits. */
const MOST_PRINTED_DIGITS = 17;
/** Powers of ten from which on, and up to which, every decimal lies in the range of normal doubles. */
const LEAST_SAFE_EXPONENT = -307;
const MOST_SAFE_EXPONENT = 307;

/** A decimal as its digits, without zeros at either end, and the power of ten of the first. Zero has no digits. */
interface Decimal {
  readonly first: number;
  readonly last: number;
  readonly digitCount: number;
  readonly exponent: number;
}

/**
 * Whether a JSON number may be kept as the double that RFC 8785 prints: its decimal value is the printed one (1.10, 1E2,
 * 1E30, -0), or it is no integer, has at most 17 significant digits and does not vanish (333333333.33333329: what prints
 * doubles with more digits than they need does not ask for more). 9007199254740993, 1e400 and 1e-400 may not. Zeros at
 * either end are no digits here, so that all spellings of one decimal fare alike. Takes time linear in the length of the
 * token, whatever its exponent.
 */
export function isSafeNumber(token: string): boolean {
  const { first, last, digitCount, exponent } = decimalOf(token);
  if (digitCount === 0) return true;
  if (digitCount > MOST_PRINTED_DIGITS) return false;
  const isInteger = exponent >= digitCount - 1;
  if (!isInteger) return exponent >= LEAST_SAFE_EXPONENT || Number(token) !== 0;
  const always = digitCount <= ALWAYS_SAFE_DIGITS;
  if (always && exponent <= MOST_SAFE_EXPONENT) return true;
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  if (always) return true;
  const printed = String(value);
  const again = decimalOf(printed);
  return (
    again.exponent === exponent &&
    again.digitCount === digitCount &&
    digitsOf(printed, again.first, again.last) === digitsOf(token, first, last)
  );
}

function decimalOf(token: string): Decimal {
  let at = token.charCodeAt(0) === 0x2d /* - */ ? 1 : 0;
  let first = -1;
  let last = -1;
  let point = -1;
  for (; at < token.length; at++) {
    const unit = token.charCodeAt(at);
    if (unit === 0x2e /* . */) {
      point = at;
    } else if ((unit | 0x20) === 0x65 /* e */) {
      break;
    } else if (unit !== 0x30 /* 0 */) {
      if (first < 0) first = at;
      last = at;
    }
  }
  if (first < 0) return { first, last, digitCount: 0, exponent: 0 };
  if (point < 0) point = at;
  // An exponent too long for a double to hold exactly needs no care: its number is zero or infinite as a double.
  const written = at < token.length ? Number(token.slice(at + 1)) : 0;
  const exponent = written + point - first - (first < point ? 1 : 0);
  const digitCount = last - first + (first < point && point < last ? 0 : 1);
  return { first, last, digitCount, exponent };
}

function digitsOf(token: string, first: number, last: number): string {
  return token.slice(first, last + 1).replace('.', '');
}
