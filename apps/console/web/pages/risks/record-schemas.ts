import { schemas } from '@sealgate/client/risk-partner-forms';
import type { Kind } from './risk-api.ts';
import * as texts from './texts.ts';

/** A JSON schema, as far as forms read it. */
interface Schema {
  readonly $ref?: string;
  /** The label. */
  readonly title?: string;
  /** The hint. */
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** A member of a record: its input and value. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: 'line' | 'text' | 'choice' | 'flag' | 'time' | 'ids' | 'rating' | 'period' | 'requirements' | 'number';
  /** For `line` and `text`: maximum code points. */
  readonly max: number | undefined;
  readonly choices: readonly string[];
  readonly required: boolean;
  /** An empty field is omitted instead of null, as it cannot be null. */
  readonly omitted: boolean;
  readonly hint: string | undefined;
}

const schemaOf = (name: string): Schema => schemas[name] ?? {};
const nameIn = ({ $ref }: Schema): string | undefined => $ref?.split('/').at(-1);

/** Values that selection lists begin with, where the order of the enum is another. */
const FIRST: Readonly<Record<string, readonly string[]>> = {
  Treatment: ['undecided'],
  EvidenceState: ['requested', 'collected', 'in_review', 'approved', 'expiring', 'expired'],
};

/** The values of an enum of the risk partner, in the order of selection lists. */
export function valuesOf(name: string): readonly string[] {
  return [...new Set([...(FIRST[name] ?? []), ...(schemaOf(name).enum ?? [])])];
}

/** Objects that have an input of their own. */
const OBJECTS: Readonly<Record<string, Field['kind']>> = {
  Estimate: 'rating',
  Rating: 'rating',
  Period: 'period',
  ObservationPeriod: 'period',
  // Only its end can be set.
  NewAcceptance: 'time',
};

/** Hints on how to use an input. */
const HINTS: Readonly<Partial<Record<Field['kind'], string>>> = {
  ids: texts.recordPickerHint,
  requirements: texts.requirementsHint,
};

function kindOf({ type, format, pattern, items }: Schema, name: string | undefined): Field['kind'] {
  if (name !== undefined) return OBJECTS[name] ?? 'choice';
  if (type === 'array') return items?.$ref === undefined ? 'ids' : 'requirements';
  if (type === 'boolean') return 'flag';
  if (type === 'integer') return 'number';
  if (format === 'date-time') return 'time';
  // A pattern excludes line breaks.
  return pattern === undefined ? 'text' : 'line';
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): Field {
  const forms = schema.anyOf ?? [schema];
  const form = forms.find(({ type }) => type !== 'null') ?? schema;
  const ref = nameIn(form);
  const kind = kindOf(form, ref);
  return {
    name,
    kind,
    label: schema.title ?? name,
    hint: schema.description ?? HINTS[kind],
    max: form.maxLength,
    choices: kind === 'choice' && ref !== undefined ? valuesOf(ref) : [],
    required: isRequired,
    omitted: forms.length === 1 && !isRequired,
  };
}

/** The labelled members of a schema, in order. */
const fieldsIn = ({ properties = {}, required = [] }: Schema): Field[] =>
  Object.entries(properties)
    .filter(([, { title }]) => title !== undefined)
    .map(([name, schema]) => fieldOf(name, schema, required.includes(name)));

/** The body of a creation, and the record, of each collection. */
const SCHEMAS: Readonly<Record<Kind, readonly [created: string, record: string]>> = {
  risks: ['NewRisk', 'RiskView'],
  controls: ['NewControl', 'ControlView'],
  assets: ['NewAsset', 'AssetView'],
  policies: ['NewPolicy', 'PolicyView'],
  evidence: ['NewEvidence', 'EvidenceView'],
};

/** Set by the service unless a program says otherwise. */
const NOT_ASKED: readonly string[] = ['identifiedAt'];
/** Of evidence: later they change by transitions. */
const ONLY_NEW: readonly string[] = ['kind', 'state', 'sha256'];

/** The fields for creating or changing a record. */
export const fieldsOf = (kind: Kind, use: 'new' | 'change'): readonly Field[] =>
  fieldsIn(schemaOf(SCHEMAS[kind][0])).filter(
    ({ name }) => !NOT_ASKED.includes(name) && !(kind === 'evidence' && use === 'change' && ONLY_NEW.includes(name)),
  );

/** All members of a record: first those that its form has, last those that every record has. */
export function membersOf(kind: Kind): readonly Field[] {
  const asked = fieldsOf(kind, 'change').map(({ name }) => name);
  const place = ({ name }: Field) => (asked.includes(name) ? 0 : ['createdAt', 'updatedAt'].includes(name) ? 2 : 1);
  return fieldsIn(schemaOf(SCHEMAS[kind][1])).toSorted((one, other) => place(one) - place(other));
}
