import type { Attachment, CaseRecord } from './case-record.ts';

interface DecidedBy {
  readonly record: Pick<CaseRecord, 'case_type' | 'venue_ids' | 'metadata'>;
  readonly attachments: readonly Pick<Attachment, 'kind' | 'label'>[];
}

/** Rules may iterate over a list of texts. */
const list = (of: (by: DecidedBy) => readonly string[]) => ({ of, isList: true });
const single = <Value>(of: (by: DecidedBy) => Value) => ({ of, isList: false });

/**
 * All facts of a case that rules may use. No clock, no randomness: the same case always decides the same. A value must
 * be covered by the MAC of the case (`caseMac`), or database access alone could change a decision.
 */
const FACTS = {
  case_type: single(({ record }) => record.case_type),
  venue_ids: list(({ record }) => record.venue_ids),
  metadata: single(({ record }) => record.metadata),
  attachment_count: single(({ attachments }) => attachments.length),
  attachment_kinds: list(({ attachments }) => attachments.map(({ kind }) => kind)),
  attachment_labels: list(({ attachments }) => attachments.flatMap(({ label }) => label ?? [])),
};

/** The facts of one case, by name. */
export type CaseFacts = Readonly<Record<string, unknown>>;

export function factsOf(record: DecidedBy['record'], attachments: DecidedBy['attachments']): CaseFacts {
  return Object.fromEntries(Object.entries(FACTS).map(([name, { of }]) => [name, of({ record, attachments })]));
}

const NAMES: ReadonlyMap<string, { readonly isList: boolean }> = new Map(Object.entries(FACTS));

export const isFact = (name: string): boolean => NAMES.has(name);
export const isListFact = (name: string): boolean => NAMES.get(name)?.isList === true;
