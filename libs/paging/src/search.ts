/** What `q` of a list asks for, in the form that the index of a search column understands. */
export interface Search {
  /** The distinct words, folded. */
  readonly words: readonly string[];
  /** Sequences of at most three code points that a row must hold: for `@>` of the index. */
  readonly grams: readonly string[];
  /** Patterns for `LIKE ALL`, which a row must match: its sequences alone may be in other places. */
  readonly patterns: readonly string[];
}

const GRAM_LENGTH = 3;

/**
 * Folds a text: compatibility decomposition (Unicode NFKD, UAX 15) without its combining marks, in lower case, words
 * separated by one space. `Zürich` and `zurich` are the same afterwards, as are `ﬁ` and `fi`.
 */
export function foldText(text: string): string {
  const folded = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '');
  return wordsOf(folded).join(' ');
}

/** The search column of a row: its texts, folded. A word of `q` is found inside a word of one of them. */
export const searchText = (texts: readonly (string | null | undefined)[]): string =>
  texts
    .map((text) => foldText(text ?? ''))
    .join(' ')
    .trim();

/** Reads `q`. Every word of it is looked for; a text without words asks for nothing and finds every row. */
export function searchOf(q: string): Search {
  const words = [...new Set(wordsOf(foldText(q)))];
  return { words, grams: [...new Set(words.flatMap(gramsOf))], patterns: words.map(patternOf) };
}

/** Whether `q` finds a row with these texts, for a list of few rows that is not searched by an index. */
export function isFound(q: string, texts: readonly (string | null | undefined)[]): boolean {
  const row = searchText(texts);
  return searchOf(q).words.every((word) => row.includes(word));
}

const wordsOf = (text: string): string[] => text.split(/\s+/u).filter((word) => word !== '');

/**
 * The sequences of three code points, one after the other, that cover the word; of a shorter word, the word itself. Those
 * that overlap would find the same rows: each costs a search of its own.
 */
function gramsOf(word: string): string[] {
  const points = Array.from(word);
  const last = Math.max(points.length - GRAM_LENGTH, 0);
  const starts = [...points.keys()].filter((at) => at === last || (at < last && at % GRAM_LENGTH === 0));
  return starts.map((at) => points.slice(at, at + GRAM_LENGTH).join(''));
}

const patternOf = (word: string): string => `%${word.replace(/[\\%_]/g, '\\$&')}%`;
