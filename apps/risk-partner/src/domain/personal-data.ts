import { AppError } from '@sealgate/errors';
import { foldCharacters } from './fold-characters.ts';

/** Something before its dot-separated host, whose last label is a word: `express@5.3.0` is a version. */
const EMAIL = /[\p{L}\p{N}._%+'-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}/u;
/** A plus and 8 to 15 digits with single separators, brackets besides; one more digit and it is none. */
const PHONE = /(?<![\p{L}\p{N}+])\+\d(?:(?:[ ./-]?\(?|\)[ ./-]?)\d){7,14}(?!(?:[ ./-]?\(?|\)[ ./-]?)\d)/u;
const SSN = /(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])/;
/** With dots or spaces, only numbers that are given out, and not within a longer row of groups: that is a version or a sum. */
const SSN_IN_GROUPS = /(?<!\w|\d[ .])(?!000|666|9)\d{3}([ .])(?!00)\d{2}\1(?!0000)\d{4}(?!\w|[ .]\d)/;
/**
 * Digits in one run, or in groups with one kind of separator: of three and more, as dates have groups of two; with dots of
 * four and more, as addresses, versions and sums have shorter ones; fractions have one point.
 */
const CARD_RUN =
  /(?<!\w|\d[.,])(?:\d{13,19}|\d{3,6}(?:-\d{3,6}){1,5}|\d{3,6}(?: \d{3,6}){1,5}|\d{4,6}(?:\.\d{4,6}){1,4}(?:\.\d{1,3})?)(?!\w|[.,]\d)/g;
const IBAN_START = /(?<!\w)[A-Za-z]{2}\d{2}(?=[ .-]?[A-Za-z0-9])/g;
/** ISO 13616: the countries, each with the length of its IBAN. */
const IBAN_LENGTHS =
  'AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23' +
  'GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30' +
  'NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30';

const CARD_DIGITS = { min: 13, max: 19 } as const;
const IBAN_LENGTH = { min: 15, max: 34 } as const;

/**
 * Whether a line of text names a person's address, phone, social security number, card or account. Raise `SCREENING_RULES`
 * with every change by which it finds more.
 */
export function holdsPersonalData(text: string): boolean {
  const plain = foldCharacters(text);
  if (EMAIL.test(plain) || PHONE.test(plain) || SSN.test(plain) || SSN_IN_GROUPS.test(plain)) return true;
  return holdsCard(plain) || holdsIban(plain);
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
    const groups = run.split(/[ .-]/);
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

/**
 * ISO 13616: country, two check digits, up to 30 letters and digits, in groups or not; the whole is 1 modulo 97. In small
 * letters many names look like one, so there it has the length of its country too.
 */
function holdsIban(text: string): boolean {
  for (const { index } of text.matchAll(IBAN_START)) {
    let compact = '';
    for (let at = index; at < text.length && compact.length <= IBAN_LENGTH.max; at += 1) {
      const character = text[at]!;
      if (/[ .-]/.test(character) && /[A-Za-z0-9]/.test(text[at - 1]!)) continue;
      if (!/[A-Za-z0-9]/.test(character)) break;
      compact += character;
      const ends = !/\w/.test(text[at + 1] ?? '');
      if (ends && compact.length >= IBAN_LENGTH.min && compact.length <= IBAN_LENGTH.max && isIban(compact))
        return true;
    }
  }
  return false;
}

function isIban(compact: string): boolean {
  const iban = compact.toUpperCase();
  const isKnown = () => IBAN_LENGTHS.includes(`${iban.slice(0, 2)}${iban.length}`);
  return isOneModulo97(iban) && (compact === iban || isKnown());
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
