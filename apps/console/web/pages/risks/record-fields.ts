import type { Draft, Kind } from './risk-api.ts';
import { WORDS } from './words.ts';

/** A form field of a record member: its input and value. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: 'line' | 'text' | 'choice' | 'flag' | 'time' | 'ids' | 'rating' | 'period' | 'requirements' | 'number';
  /** For `line` and `text`: maximum code points. */
  readonly max?: number;
  readonly choices?: readonly string[];
  /** Required. */
  readonly required?: boolean;
  /** An empty field is omitted instead of null. */
  readonly omitted?: boolean;
  /** Only for new records, or only for changes. */
  readonly only?: 'new' | 'change';
  readonly hint?: string;
}

const line = (name: string, label: string, max: number, rest: Partial<Field> = {}): Field => ({
  name,
  label,
  kind: 'line',
  max,
  ...rest,
});
const text = (name: string, label: string, rest: Partial<Field> = {}): Field => ({
  name,
  label,
  kind: 'text',
  max: 10_000,
  ...rest,
});
const choice = (name: string, label: string, choices: object, rest: Partial<Field> = {}): Field => ({
  ...{ name, label, kind: 'choice', choices: Object.keys(choices), omitted: true },
  ...rest,
});
const time = (name: string, label: string, rest: Partial<Field> = {}): Field => ({
  name,
  label,
  kind: 'time',
  ...rest,
});
const ids = (name: string, label: string): Field => ({
  name,
  label,
  kind: 'ids',
  hint: 'Ids, each followed by Enter.',
});

const refId = line('refId', 'Reference', 64, { hint: 'What your organisation calls it.' });
const title = line('title', 'Title', 200, { required: true });
const filtered: readonly Field[] = [
  line('department', 'Department', 100),
  line('ownerId', 'Owner', 200, { omitted: true, hint: 'Id of a person; left empty: you.' }),
  {
    name: 'sensitive',
    label: 'Sensitive',
    kind: 'flag',
    hint: 'Seen by its owner, and by who may read sensitive rows.',
  },
];

/** The fields of each collection's form, in order. */
export const FIELDS: Readonly<Record<Kind, readonly Field[]>> = {
  risks: [
    title,
    refId,
    line('category', 'Category', 100, { required: true }),
    text('description', 'Description'),
    { name: 'inherent', label: 'Inherent rating', kind: 'rating', required: true },
    { name: 'current', label: 'Current rating', kind: 'rating', omitted: true },
    { name: 'residual', label: 'Residual rating', kind: 'rating' },
    choice('status', 'Status', WORDS.riskStatus),
    time('acceptance', 'Accepted until', { hint: 'Needed for the status accepted.', omitted: true }),
    choice('treatment', 'Treatment', WORDS.treatment),
    text('treatmentPlan', 'Treatment plan'),
    choice('reviewStatus', 'Review', WORDS.reviewStatus),
    time('nextReviewAt', 'Next review'),
    ...filtered,
    ids('assetIds', 'Assets'),
    ids('controlIds', 'Controls'),
    ids('evidenceIds', 'Evidence'),
  ],
  controls: [
    title,
    refId,
    text('description', 'Description'),
    choice('status', 'Status', WORDS.controlStatus),
    {
      name: 'frameworkRefs',
      label: 'Requirements',
      kind: 'requirements',
      hint: 'Framework id, a slash and the requirement, each followed by Enter.',
    },
    time('lastTestedAt', 'Last tested'),
    choice('testResult', 'Test result', WORDS.testResult, { omitted: false }),
  ],
  assets: [
    line('name', 'Name', 200, { required: true }),
    refId,
    line('type', 'Type', 100, { required: true }),
    choice('criticality', 'Criticality', WORDS.level),
    choice('status', 'Status', WORDS.assetStatus),
    line('dataClassification', 'Data classification', 100),
    line('environment', 'Environment', 100),
    ...filtered,
    ids('controlIds', 'Controls'),
  ],
  policies: [
    title,
    choice('status', 'Status', WORDS.policyStatus),
    text('body', 'Text', { required: true, max: 200_000 }),
    time('approvedAt', 'Approved'),
    time('effectiveAt', 'Effective'),
    time('nextReviewAt', 'Next review'),
  ],
  evidence: [
    title,
    choice('kind', 'Kind', WORDS.evidenceKind, { required: true, only: 'new' }),
    choice('state', 'State', { collected: '', requested: '' }, { only: 'new' }),
    line('sha256', 'SHA-256', 64, {
      only: 'new',
      hint: '64 hexadecimal digits of the content; not for links and requests.',
    }),
    { name: 'sizeBytes', label: 'Size in bytes', kind: 'number' },
    line('mediaType', 'Media type', 201, { hint: 'For example application/pdf.' }),
    line('source', 'Source', 200),
    line('collectionMethod', 'How it was collected', 200),
    { name: 'observationPeriod', label: 'Observed', kind: 'period' },
    time('effectiveAt', 'Effective'),
    time('validUntil', 'Valid until'),
    ...filtered,
    ids('controlIds', 'Controls'),
  ],
};

/** The fields for creating or changing a record. */
export const fieldsOf = (kind: Kind, use: 'new' | 'change'): readonly Field[] =>
  FIELDS[kind].filter(({ only }) => only === undefined || only === use);

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
    if (before !== undefined) return !isSame(draft[name], before[name]) && !(omitted === true && isEmpty(draft[name]));
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
  const missing = fields.filter(({ name, required }) => required === true && isEmpty(draft[name]));
  return Object.fromEntries(missing.map(({ name }) => [name, 'Fill this in.']));
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
