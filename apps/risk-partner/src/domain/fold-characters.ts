/** Full-width signs, letters and digits; dots; spaces; hyphens and the dashes of numbers; what has no width; digits of any script. */
const FOLDED =
  /[\u{FF08}\u{FF09}\u{FF0B}\u{FF0D}-\u{FF0F}\u{FF20}-\u{FF3A}\u{FF41}-\u{FF5A}\u{FE52}\u{FE62}\u{FE63}\u{FE6B}\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\u2010-\u2013\u2024\u2212\p{Default_Ignorable_Code_Point}\p{Mn}\p{Me}[\p{Nd}--[0-9]]]/v;
const ALL_FOLDED = new RegExp(FOLDED, 'gv');
const DASH = /[\u2010-\u2013\u2212]/;
/** What is not shown (direction marks, variation selectors, fillers), and marks on the character before them. */
const NO_WIDTH = /[\p{Default_Ignorable_Code_Point}\p{Mn}\p{Me}]/u;
const DIGIT = /\p{Nd}/u;

/**
 * The text with signs, digits and spaces that only look different written as ASCII: what reads like a number or an address
 * to a person is to be found as one. Em dashes stay, as they stand between words.
 */
export function foldCharacters(text: string): string {
  return FOLDED.test(text) ? text.replace(ALL_FOLDED, fold) : text;
}

function fold(character: string): string {
  if (DASH.test(character)) return '-';
  if (NO_WIDTH.test(character)) return '';
  if (/\s/.test(character)) return ' ';
  // Full-width and mathematical forms have a plain one.
  const plain = character.normalize('NFKC');
  if (plain < '\u0080') return plain;
  return String(valueOf(character.codePointAt(0)!));
}

/** The digits of a script are ten neighbours, from zero on. */
function valueOf(digit: number): number {
  let value = 0;
  while (value < 9 && DIGIT.test(String.fromCodePoint(digit - value - 1))) value += 1;
  return value;
}
