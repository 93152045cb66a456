import { timestampOf } from './scheme.ts';
import type { SignatureForm } from '../source.ts';

export type TimestampFormat = NonNullable<SignatureForm['timestampFormat']>;
export const PLACEHOLDERS = ['id', 'timestamp', 'body', 'url', 'method'] as const;

/** The literals and placeholders of a template in order; undefined where a brace is not part of a placeholder. */
export function templateParts(
  template: string,
): readonly ({ readonly literal: string } | { readonly name: string })[] | undefined {
  const parts = template.split(/(\{[^{}]*\})/).filter((part) => part !== '');
  const read = parts.map((part) => (/^\{[^{}]*\}$/.test(part) ? { name: part.slice(1, -1) } : { literal: part }));
  return read.some((part) => 'literal' in part && /[{}]/.test(part.literal)) ? undefined : read;
}

/** Whole seconds since the epoch; undefined where the text is not a timestamp of this format. */
export function secondsOf(text: string, format: TimestampFormat = 'seconds'): number | undefined {
  if (format === 'seconds') return timestampOf(text);
  if (format === 'milliseconds') return /^[1-9]\d{3,13}$/.test(text) ? Math.floor(Number(text) / 1000) : undefined;
  const match = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.\d{1,12})?([Zz]|[+-]\d\d:\d\d)?$/.exec(text);
  // Senders that leave the offset out mean UTC.
  const ms = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}${(match[3] ?? 'Z').toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

/** A piece of what is signed: a part of a template with its text, the body by its first bytes. */
export interface Piece {
  readonly name: string;
  readonly text: string;
}

const VARIABLE: ReadonlySet<string> = new Set(['id', 'timestamp', 'body']);
const DATE = /\d{4}-\d\d-\d\d[Tt ]/;
const LONGEST_TIMESTAMP = 38;

/** The text that is the same in every delivery, from a piece on to the next one that is not. */
function constantFrom(
  pieces: readonly Piece[],
  from: number,
  step: 1 | -1,
): { text: string; next: string | undefined } {
  let text = '';
  for (let at = from; ; at += step) {
    const piece = pieces[at];
    if (piece === undefined || VARIABLE.has(piece.name)) return { text, next: piece?.name };
    text = step === 1 ? text + piece.text : piece.text + text;
  }
}

/**
 * Whether the signed bytes can be divided into id, timestamp and body in one way only. Otherwise whoever has one
 * delivery could move bytes from its body into its id, and the same signature would stand for a second record.
 *
 * Before the body an id ends at the first occurrence of the constant text behind it, and behind the body it begins after
 * the last occurrence of that before it. A number of seconds or milliseconds needs no delimiter: with a digit more or
 * less it is out of any tolerance. A time of RFC 3339 may lack fraction and offset, so the longest reading counts.
 */
export function isDividedOnce(pieces: readonly Piece[], format: TimestampFormat = 'seconds'): boolean {
  const bodyAt = pieces.findIndex(({ name }) => name === 'body');
  return pieces.every(({ name, text }, at) => {
    const isBefore = at < bodyAt;
    if (name === 'id') return isBefore ? endsOnce(pieces, at) : beginsOnce(pieces, at);
    return name !== 'timestamp' || format !== 'rfc3339' || !isBefore || isLongest(text, pieces, at);
  });
}

function endsOnce(pieces: readonly Piece[], at: number): boolean {
  const id = pieces[at]!.text;
  const { text: delimiter } = constantFrom(pieces, at + 1, 1);
  if (delimiter !== '') return (id + delimiter).indexOf(delimiter) === id.length;
  return (id + (pieces[at + 1]?.text ?? '')).search(DATE) === id.length;
}

function beginsOnce(pieces: readonly Piece[], at: number): boolean {
  const { text: delimiter } = constantFrom(pieces, at - 1, -1);
  return delimiter !== '' && (delimiter + pieces[at]!.text).lastIndexOf(delimiter) === 0;
}

function isLongest(time: string, pieces: readonly Piece[], at: number): boolean {
  const { text: delimiter } = constantFrom(pieces, at + 1, 1);
  const all = pieces.slice(at).map(({ text }) => text);
  const signed = all.join('');
  for (let length = time.length + 1; length <= LONGEST_TIMESTAMP; length += 1) {
    const isTime = secondsOf(signed.slice(0, length), 'rfc3339') !== undefined;
    if (length <= signed.length && isTime && signed.startsWith(delimiter, length)) return false;
  }
  return true;
}

/** Why no id could be told from what follows it; undefined where the template has none, or delimits it. */
export function undelimitedId(template: string, format: TimestampFormat = 'seconds'): string | undefined {
  const pieces = (templateParts(template) ?? []).map((part) =>
    // The values of {url} and {method} are the same in every delivery; no id has a slash and a colon in this order.
    'literal' in part ? { name: '', text: part.literal } : { name: part.name, text: part.name === 'url' ? '://' : '' },
  );
  const bodyAt = pieces.findIndex(({ name }) => name === 'body');
  for (const [at, { name }] of pieces.entries()) {
    if (name !== 'id') continue;
    const { text, next } = at < bodyAt ? constantFrom(pieces, at + 1, 1) : constantFrom(pieces, at - 1, -1);
    const isDated = at < bodyAt && text === '' && next === 'timestamp' && format === 'rfc3339';
    if (!isDated && /^[A-Za-z0-9_-]*$/.test(text))
      return '{id} needs a delimiter that ids do not contain, such as a full stop: otherwise bytes of the body could be passed off as part of the id.';
  }
  return undefined;
}
