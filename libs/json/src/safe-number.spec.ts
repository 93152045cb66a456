import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isSafeNumber } from './safe-number.ts';

/** The exact value of a JSON number as a fraction: numerator times a non-positive power of ten. */
function exactly(token: string): { numerator: bigint; power: number } {
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const power = Number(exponent) - fraction.length;
  const numerator = BigInt(whole + fraction);
  return power > 0 ? { numerator: numerator * 10n ** BigInt(power), power: 0 } : { numerator, power };
}

/** Whether RFC 8785 prints the same decimal, by exact arithmetic; slow. */
function survivesPrinting(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  const written = exactly(token);
  const printed = exactly(String(value));
  const scale = Math.min(written.power, printed.power);
  const scaled = (exact: typeof written) => exact.numerator * 10n ** BigInt(exact.power - scale);
  return scaled(written) === scaled(printed);
}

/** A fraction of at most 17 significant digits whose double is not zero. */
function isShortFraction(token: string): boolean {
  const { numerator, power } = exactly(token);
  const digits = String(numerator < 0n ? -numerator : numerator).replace(/0+$/, '');
  const isFraction = power < 0 && numerator % 10n ** BigInt(-power) !== 0n;
  return isFraction && digits.length <= 17 && Number(token) !== 0;
}

const isKept = (token: string) => survivesPrinting(token) || isShortFraction(token);

const digits = (maxLength: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${maxLength}}$`));
const numberToken = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: digits(24).map((text) => text.replace(/^0+(?=.)/, '')),
    fraction: fc.option(digits(30), { nil: undefined }),
    exponent: fc.option(fc.integer({ min: -360, max: 330 }), { nil: undefined }),
  })
  .map(
    ({ sign, whole, fraction, exponent }) =>
      sign + whole + (fraction === undefined ? '' : `.${fraction}`) + (exponent === undefined ? '' : `e${exponent}`),
  );

describe('isSafeNumber', () => {
  it.each([
    '0',
    '-0',
    '0.0',
    '-0.000e5',
    '0e999999999999999999999',
    '0.1',
    '1.10',
    '1E2',
    '1e+2',
    '100e-2',
    '1e0000000000000000000000002',
    '9007199254740991',
    '9007199254740992',
    '9007199254740994',
    '333333333.3333333',
    '1e21',
    '1e22',
    '1e23',
    '123456789012345',
    '0.000001',
    '1.7976931348623157e308',
    '1.7976931348623157e+308',
    '5e-324',
    '2.2250738585072014e-308',
    `${'0.'}${'0'.repeat(400)}1e401`,
    `1${'0'.repeat(308)}`,
    `1${'0'.repeat(400)}e-400`,
    '100000000000000000000000',
    '1e308',
    '1e-307',
    '1e-308',
    '1E30',
  ])('accepts %s: it prints with the same value', (token) => {
    expect(isSafeNumber(token)).toBe(true);
  });

  it.each([
    '333333333.33333329',
    '-333333333.33333329',
    '333333333.333333290',
    '0.33333333333333331',
    '0.10000000000000001',
    '3.3333333333333331e-10',
    '9007199254740992.5',
    '90071992547409935e-1',
    '2.2250738585072011e-308',
    '4.9406564584124654e-324',
    '4e-324',
  ])('accepts %s: a fraction of at most 17 significant digits', (token) => {
    expect(survivesPrinting(token)).toBe(false);
    expect(isSafeNumber(token)).toBe(true);
  });

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '9007199254740993.0',
    '90071992547409930e-1',
    '0.9007199254740993e16',
    '99999999999999999',
    '0.333333333333333315',
    '9007199254740992.25',
    '0.10000000000000000555',
    '0.12345678901234567890',
    '1e309',
    '1e400',
    '-1e400',
    '1e-400',
    '1e-324',
    '2e308',
    '1.7976931348623159e308',
    '1e99999999999999999999',
    '1e-99999999999999999999',
    '123456789012345678901234567890',
    '100000000000000000000001',
    `0.${'0'.repeat(400)}1`,
    '1'.repeat(400),
  ])('rejects %s: no double prints it, and it is not a short fraction', (token) => {
    expect(isSafeNumber(token)).toBe(false);
  });

  it('agrees with exact arithmetic on every number', () => {
    fc.assert(
      fc.property(numberToken, (token) => {
        expect(isSafeNumber(token)).toBe(isKept(token));
      }),
      { numRuns: 2000 },
    );
  });

  it('agrees with exact arithmetic on numbers with about as many digits as a double', () => {
    const near = fc.tuple(fc.stringMatching(/^[1-9][0-9]{13,17}$/), fc.integer({ min: -345, max: 312 }));
    fc.assert(
      fc.property(near, ([mantissa, exponent]) => {
        const token = `${mantissa}e${exponent}`;
        expect(isSafeNumber(token)).toBe(isKept(token));
      }),
      { numRuns: 3000 },
    );
  });

  it('accepts all that printers of doubles write, also with 17 digits, in any spelling', () => {
    const spellings = (digits: string, exponent: number) => [
      `${digits}e${exponent}`,
      `${digits}000e${exponent - 3}`,
      `0.${digits}E${exponent + digits.length}`,
    ];
    fc.assert(
      fc.property(fc.stringMatching(/^[1-9][0-9]{0,16}$/), fc.integer({ min: -330, max: 300 }), (digits, exponent) => {
        const [first, ...others] = spellings(digits, exponent).map((token) => isSafeNumber(token));
        for (const other of others) expect(other).toBe(first);
      }),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        if (!Number.isInteger(value)) expect(isSafeNumber(value.toExponential(16))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('accepts everything that a double prints', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(isSafeNumber(JSON.stringify(value))).toBe(true);
        expect(isSafeNumber(value.toExponential())).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
