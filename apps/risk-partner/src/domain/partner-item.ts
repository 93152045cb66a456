import { canonical, type JsonValue } from '@sealgate/json';
import { stateAt, type Evidence } from './evidence.ts';
import { KIND_OF } from './kinds.ts';
import { mayHoldPersonalData } from './may-hold-personal-data.ts';
import { holdsPersonalData } from './personal-data.ts';
import type { KindName } from './resource.ts';

/** The free-text members of each collection's items: only these are scanned when items are read. */
const FREE_TEXT: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.values(KIND_OF).map(({ collection, freeText }) => [collection, freeText])),
  frameworks: ['name', 'version'],
  coverage: ['requirementTitle'],
};

type Item = { [member: string]: JsonValue };

/** Called with the member of an item that was masked; never with its content. */
export type OnMasked = (collection: string, id: string, member: string) => void;

/**
 * A canonical item with personal data replaced by null (data from before such writes were refused). Usually returns the
 * text unchanged.
 */
export function withoutPersonalData(collection: string, text: string, onMasked: OnMasked): string {
  if (!mayHoldPersonalData(text)) return text;
  const item = JSON.parse(text) as Item;
  const hits = (FREE_TEXT[collection] ?? []).filter((name) => {
    const value = item[name];
    return typeof value === 'string' && holdsPersonalData(value);
  });
  if (hits.length === 0) return text;
  for (const name of hits) onMasked(collection, String(item['id']), name);
  return canonical({ ...item, ...Object.fromEntries(hits.map((name) => [name, null])) });
}

/** Whether `withoutPersonalData` returns the text unchanged. */
export function isFreeOfPersonalData(collection: string, text: string): boolean {
  return withoutPersonalData(collection, text, () => undefined) === text;
}

/** An item at a time after which it may be another: evidence expires, and the acceptance of a risk runs out. */
export function itemAt(kind: KindName, text: string, nowMs: number): string {
  if (kind === 'evidence') return withStateAt(text, nowMs);
  const item = JSON.parse(text) as Item;
  const ends = item['acceptanceExpiresAt'];
  return typeof ends === 'string' && Date.parse(ends) <= nowMs ? canonical({ ...item, acceptanceStale: true }) : text;
}

function withStateAt(text: string, nowMs: number): string {
  const item = JSON.parse(text) as Pick<Evidence, 'state' | 'validUntil'>;
  const state = stateAt(item.state, item.validUntil, nowMs);
  return state === item.state ? text : canonical({ ...item, state });
}

/** A control item with the number of evidence rows visible to the caller. Stored items have 0. */
export function withEvidenceCount(text: string, evidenceCount: number): string {
  return evidenceCount === 0 ? text : canonical({ ...(JSON.parse(text) as Item), evidenceCount });
}
