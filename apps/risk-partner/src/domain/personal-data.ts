import { AppError } from '@sealgate/errors';

/** Something before its dot-separated host, whose last label is a word: `express@5.3.0` is a version. */
const EMAIL = /[\p{L}\p{N}._%+'-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}/u;
/** A plus and 8 to 15 digits with single separators; one more digit and it is none. */
const PHONE = /(?<![\p{L}\p{N}+])\+\d(?:[ ./()-]?\d){7,14}(?![ ./()-]?\d)/u;
const SSN = /(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])/;
/** Digits in one run, or in groups of three and more with one kind of separator: dates have groups of two, fractions and versions a point. */
const CARD_RUN = /(?<!\w|\d[.,])(?:\d{13,19}|\d{3,6}(?:-\d{3,6}){1,5}|\d{3,6}(?: \d{3,6}){1,5})(?!\w|[.,]\d)/g;
const IBAN_START = /(?<!\w)[A-Z]{2}\d{2}(?=[ ]?[A-Z0-9])/g;

const CARD_DIGITS = { min: 13, max: 19 } as const;
const IBAN_LENGTH = { min: 15, max: 34 } as const;

/** Whether a line of text names a person's address, phone, social security number, card or account. */
export function holdsPersonalData(text: string): boolean {
  return EMAIL.test(text) || PHONE.test(text) || SSN.test(text) || holdsCard(text) || holdsIban(text);
}

/**
 * Refuses what partners could see. `fields` are the texts by the pointer of their member.
 * @throws AppError PERSONAL_DATA_REFUSED naming every place, and quoting none.
 */
export function refusePersonalData(fields: Readonly<Record<string, string | null | undefined>>): void {
  const faults = Object.entries(fields)
    .filter(([, text]) => typeof text === 'string' && holdsPersonalData(text))
    .map(([pointer]) => ({ in: 'body' as const, pointer, detail: 'reads like personal data' }));
  if (faults.length === 0) return;
  const detail = 'Titles, names and references are shown to partners; they may not hold personal data.';
  throw new AppError('PERSONAL_DATA_REFUSED', detail, { faults });
}

/** ISO/IEC 7812: 13 to 19 digits whose Luhn sum ends in 0; any of the neighbouring groups may be the card. */
function holdsCard(text: string): boolean {
  for (const [run] of text.matchAll(CARD_RUN)) {
    const groups = run.split(/[ -]/);
    for (let first = 0; first < groups.length; first += 1) {
      let digits = '';
      for (let last = first; last < groups.length; last += 1) {
        digits += groups[last]!;
        if (digits.length > CARD_DIGITS.max) break;
        if (digits.length >= CARD_DIGITS.min && hasLuhnSum(digits)) return true;
      }
    }
  }
  return false;
}

function hasLuhnSum(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  // A row of zeroes fits every sum and is nobody's card.
  return sum > 0 && sum % 10 === 0;
}

/** ISO 13616: country, two check digits, up to 30 letters and digits, in groups or not; the whole is 1 modulo 97. */
function holdsIban(text: string): boolean {
  for (const { index } of text.matchAll(IBAN_START)) {
    let compact = '';
    for (let at = index; at < text.length && compact.length <= IBAN_LENGTH.max; at += 1) {
      const character = text[at]!;
      if (character === ' ' && text[at - 1] !== ' ') continue;
      if (!/[A-Z0-9]/.test(character)) break;
      compact += character;
      const ends = !/\w/.test(text[at + 1] ?? '');
      if (ends && compact.length >= IBAN_LENGTH.min && compact.length <= IBAN_LENGTH.max && isOneModulo97(compact))
        return true;
    }
  }
  return false;
}

function isOneModulo97(iban: string): boolean {
  let remainder = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    // A letter stands for two digits: A is 10.
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}
