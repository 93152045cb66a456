import type { Field } from './record-schemas.ts';
import type { Draft } from './risk-api.ts';
import * as texts from './texts.ts';

/** The editable values of a record, as its fields hold them. */
export function draftOf(fields: readonly Field[], record: Draft): Draft {
  return Object.fromEntries(fields.map(({ name, kind }) => [name, asTyped(name, kind, record[name])]));
}

function asTyped(name: string, kind: Field['kind'], value: unknown): unknown {
  // Only the end of an acceptance is editable.
  if (name === 'acceptance') return (value as { expiresAt?: string } | null | undefined)?.expiresAt ?? null;
  if (kind === 'rating' && value != null) {
    const { likelihood, impact } = value as { likelihood: number; impact: number };
    return { likelihood, impact };
  }
  if (kind === 'ids' || kind === 'requirements') return value ?? [];
  if (kind === 'flag') return value ?? false;
  return value ?? null;
}

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === '';

/** The request body: members that differ from `before`, or all filled-in ones for a new record. */
export function bodyOf(fields: readonly Field[], draft: Draft, before: Draft | undefined): Draft {
  const sent = fields.filter(({ name, kind, omitted }) => {
    if (before !== undefined) return !isSame(draft[name], before[name]) && !(omitted && isEmpty(draft[name]));
    return kind === 'flag' ? draft[name] === true : !isEmpty(draft[name]) && !isSame(draft[name], []);
  });
  return Object.fromEntries(
    sent.map(({ name }) => [name, name === 'acceptance' ? { expiresAt: draft[name] } : (draft[name] ?? null)]),
  );
}

/** Deep equality, with members in any order. */
const isSame = (one: unknown, other: unknown): boolean => sorted(one) === sorted(other);

const sorted = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );

/** The missing values, by field name. */
export function missingOf(fields: readonly Field[], draft: Draft): Readonly<Record<string, string>> {
  const missing = fields.filter(({ name, required }) => required && isEmpty(draft[name]));
  return Object.fromEntries(missing.map(({ name }) => [name, texts.fillThisIn]));
}

/** A member changed by both sides, or only by the other. */
export interface Difference {
  readonly field: Field;
  readonly mine: unknown;
  readonly theirs: unknown;
  /** The value when the form was opened. */
  readonly before: unknown;
  /** Both changed it to different values: needs a choice. */
  readonly clashes: boolean;
}

/** The members in which a newer version and the input differ. */
export function differencesOf(
  fields: readonly Field[],
  { before, mine, theirs }: { readonly before: Draft; readonly mine: Draft; readonly theirs: Draft },
): Difference[] {
  return fields
    .filter(({ name }) => !isSame(mine[name], theirs[name]))
    .map((field) => {
      const at = field.name;
      const clashes = !isSame(mine[at], before[at]) && !isSame(theirs[at], before[at]);
      return { field, mine: mine[at], theirs: theirs[at], before: before[at], clashes };
    });
}

/** Their version with the chosen members of mine. Default: theirs for untouched members, mine for changed ones. */
export const mergedOf = (theirs: Draft, differences: readonly Difference[], taken: ReadonlySet<string>): Draft => ({
  ...theirs,
  ...Object.fromEntries(
    differences.filter(({ field }) => taken.has(field.name)).map(({ field, mine }) => [field.name, mine]),
  ),
});
