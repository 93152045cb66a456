/** A double distinguishes all decimals of up to this many digits within the range of normal doubles. */
const ALWAYS_SAFE_DIGITS = 15;
/** The shortest form that identifies a double never has more digits. */
const MOST_PRINTED_DIGITS = 17;
/** Between these powers of ten every decimal is in the range of normal doubles. */
const LEAST_SAFE_EXPONENT = -307;
const MOST_SAFE_EXPONENT = 307;

/** A decimal: digits without leading or trailing zeros, and the power of ten of the first. Zero has no digits. */
interface Decimal {
  readonly first: number;
  readonly last: number;
  readonly digitCount: number;
  readonly exponent: number;
}

/**
 * True when a JSON number survives conversion to a double: RFC 8785 prints the same decimal value (1.10, 1E2, 1E30,
 * -0), or it is a fraction of at most 17 significant digits that does not underflow to zero (333333333.33333329:
 * printers of doubles write no more digits). False for 9007199254740993, 1e400 and 1e-400. Leading and trailing zeros
 * do not count, so all spellings of a decimal are treated alike. Linear in the length of the token, for any exponent.
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
  // An exponent too large to be exact gives zero or infinity as a double anyway.
  const written = at < token.length ? Number(token.slice(at + 1)) : 0;
  const exponent = written + point - first - (first < point ? 1 : 0);
  const digitCount = last - first + (first < point && point < last ? 0 : 1);
  return { first, last, digitCount, exponent };
}

function digitsOf(token: string, first: number, last: number): string {
  return token.slice(first, last + 1).replace('.', '');
}
