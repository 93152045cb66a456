import { AppError } from '@sealgate/errors';

/** A local part, `@`, and a dotted host whose last label is a word: `express@5.3.0` is a version, not an address. */
const EMAIL = /[\p{L}\p{N}._%+'-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}/u;
/** `+` and 8 to 15 digits with single separators or brackets. With more digits it is no phone number. */
const PHONE = /(?<![\p{L}\p{N}+])\+\d(?:(?:[ ./-]?\(?|\)[ ./-]?)\d){7,14}(?!(?:[ ./-]?\(?|\)[ ./-]?)\d)/u;
const SSN = /(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])/;
/**
 * Separated by dots or spaces: only assignable numbers, and not within a longer sequence of groups, which is a version
 * or an amount.
 */
const SSN_IN_GROUPS = /(?<!\w|\d[ .])(?!000|666|9)\d{3}([ .])(?!00)\d{2}\1(?!0000)\d{4}(?!\w|[ .]\d)/;
/**
 * Digits in one run, or in groups with one kind of separator. Groups have at least three digits (dates have two), with
 * dots at least four (addresses, versions and amounts have shorter ones); a decimal fraction may follow.
 */
const CARD_RUN =
  /(?<!\w|\d[.,])(?:\d{13,19}|\d{3,6}(?:-\d{3,6}){1,5}|\d{3,6}(?: \d{3,6}){1,5}|\d{4,6}(?:\.\d{4,6}){1,4}(?:\.\d{1,3})?)(?!\w|[.,]\d)/g;
const IBAN_START = /(?<!\w)[A-Za-z]{2}\d{2}(?=[ .-]?[A-Za-z0-9])/g;
/** ISO 13616: country codes, each with the length of its IBAN. */
const IBAN_LENGTHS =
  'AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23' +
  'GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30' +
  'NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30';

const CARD_DIGITS = { min: 13, max: 19 } as const;
/**
 * ISO/IEC 7812: the first digits of the issuers' ranges, each with the lengths of their numbers. A range of prefixes has
 * bounds of one length.
 */
const ISSUERS = {
  visa: { prefixes: ['4'], lengths: [13, 16, 19] },
  mastercard: { prefixes: ['51-55', '2221-2720'], lengths: [16] },
  amex: { prefixes: ['34', '37'], lengths: [15] },
  discover: { prefixes: ['6011', '644-649', '65'], lengths: [16, 17, 18, 19] },
  diners: { prefixes: ['300-305', '3095', '36', '38-39'], lengths: [14, 15, 16, 17, 18, 19] },
  jcb: { prefixes: ['3528-3589'], lengths: [16, 17, 18, 19] },
  unionPay: { prefixes: ['62', '8100-8171'], lengths: [16, 17, 18, 19] },
  maestro: { prefixes: ['50', '56-58', '63', '67'], lengths: [13, 14, 15, 16, 17, 18, 19] },
} as const;
const ISSUER_RANGES = Object.values(ISSUERS).flatMap(({ prefixes, lengths }) =>
  prefixes.map((prefix) => {
    const [first = '', last = first] = prefix.split('-');
    return { first, last, lengths: lengths as readonly number[] };
  }),
);
/** Milliseconds from 2000 until the end of 2100 have 12 or 13 digits; the last of them begin like a card of Visa. */
const TIMES_MS = { first: Date.UTC(2000), end: Date.UTC(2101) } as const;
/** Day, month, year and time without separators: on the 30th of a month it begins like a card of Diners. */
const STAMP = /^30(?:0[1-9]|1[0-2])(?:19|20|21)\d\d(?:[01]\d|2[0-3])[0-5]\d[0-5]\d$/;
const IBAN_LENGTH = { min: 15, max: 34 } as const;

/**
 * Whether a text contains an e-mail address, phone number, social security number, card number or IBAN. Raise
 * `SCREENING_RULES` with every change that makes this find more.
 */
export function holdsPersonalData(text: string): boolean {
  const plain = foldCharacters(text);
  if (EMAIL.test(plain) || PHONE.test(plain) || SSN.test(plain) || SSN_IN_GROUPS.test(plain)) return true;
  return holdsCard(plain) || holdsIban(plain);
}

/**
 * Refuses personal data in texts that partners see. `fields` are the texts by JSON pointer.
 * @throws AppError PERSONAL_DATA_REFUSED with the pointer of each, without quoting any.
 */
export function refusePersonalData(fields: Readonly<Record<string, string | null | undefined>>): void {
  const faults = Object.entries(fields)
    .filter(([, text]) => typeof text === 'string' && holdsPersonalData(text))
    .map(([pointer]) => ({ in: 'body' as const, pointer, detail: 'looks like personal data' }));
  if (faults.length === 0) return;
  const detail = 'Titles, names and references are shown to partners and must not contain personal data.';
  throw new AppError('PERSONAL_DATA_REFUSED', detail, { faults });
}

/**
 * Digits with the prefix and length of an issuer whose Luhn sum ends in 0. Any sequence of adjacent groups may be the
 * card number. One in ten numbers passes the Luhn test, so without an issuer times and order numbers would be cards.
 */
function holdsCard(text: string): boolean {
  for (const [run] of text.matchAll(CARD_RUN)) {
    const groups = run.split(/[ .-]/);
    for (let first = 0; first < groups.length; first += 1) {
      let digits = '';
      for (let last = first; last < groups.length; last += 1) {
        digits += groups[last]!;
        if (digits.length > CARD_DIGITS.max) break;
        if (digits.length >= CARD_DIGITS.min && isIssued(digits) && hasLuhnSum(digits)) return true;
      }
    }
  }
  return false;
}

function isIssued(digits: string): boolean {
  if (digits.length === 13 && Number(digits) >= TIMES_MS.first && Number(digits) < TIMES_MS.end) return false;
  if (STAMP.test(digits)) return false;
  return ISSUER_RANGES.some(({ first, last, lengths }) => {
    const prefix = digits.slice(0, first.length);
    return prefix >= first && prefix <= last && lengths.includes(digits.length);
  });
}

function hasLuhnSum(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/**
 * ISO 13616: country, two check digits, up to 30 letters and digits, grouped or not, with the length of the country and
 * checksum 1 modulo 97. One in 97 references passes the checksum alone.
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
  return IBAN_LENGTHS.includes(`${iban.slice(0, 2)}${iban.length}`) && isOneModulo97(iban);
}

function isOneModulo97(iban: string): boolean {
  let remainder = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    // A letter counts as two digits: A is 10.
    const value = Number.parseInt(character, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder === 1;
}

/**
 * Full-width signs, letters and digits; dots; spaces; hyphens and number dashes; zero-width characters; digits of any
 * script.
 */
const FOLDED =
  /[\u{FF08}\u{FF09}\u{FF0B}\u{FF0D}-\u{FF0F}\u{FF20}-\u{FF3A}\u{FF41}-\u{FF5A}\u{FE52}\u{FE62}\u{FE63}\u{FE6B}\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\u2010-\u2013\u2024\u2212\p{Default_Ignorable_Code_Point}\p{Mn}\p{Me}[\p{Nd}--[0-9]]]/v;
const ALL_FOLDED = new RegExp(FOLDED, 'gv');
const DASH = /[\u2010-\u2013\u2212]/;
/** Invisible characters (direction marks, variation selectors, fillers), and combining marks. */
const NO_WIDTH = /[\p{Default_Ignorable_Code_Point}\p{Mn}\p{Me}]/u;
const DIGIT = /\p{Nd}/u;

/**
 * Writes look-alikes of signs, digits and spaces as ASCII, so that numbers and addresses are found as a reader sees
 * them. Em dashes stay, as they separate words.
 */
export function foldCharacters(text: string): string {
  return FOLDED.test(text) ? text.replace(ALL_FOLDED, fold) : text;
}

function fold(character: string): string {
  if (DASH.test(character)) return '-';
  if (NO_WIDTH.test(character)) return '';
  if (/\s/.test(character)) return ' ';
  // Full-width and mathematical forms have an ASCII equivalent.
  const plain = character.normalize('NFKC');
  if (plain < '\u0080') return plain;
  return String(valueOf(character.codePointAt(0)!));
}

/** The digits of a script are ten consecutive code points, from zero on. */
function valueOf(digit: number): number {
  let value = 0;
  while (value < 9 && DIGIT.test(String.fromCodePoint(digit - value - 1))) value += 1;
  return value;
}
