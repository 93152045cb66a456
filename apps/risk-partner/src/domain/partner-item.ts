import { canonical, type JsonValue } from '@sealgate/json';
import { stateAt, type Evidence } from './evidence.ts';
import { mayHoldPersonalData } from './may-hold-personal-data.ts';
import { holdsPersonalData } from './personal-data.ts';

/** The members of each collection's items that are free text: only these are looked through when they are read. */
const FREE_TEXT: Readonly<Record<string, readonly string[]>> = {
  assets: ['refId', 'name', 'type', 'dataClassification', 'environment'],
  risks: ['refId', 'title', 'category'],
  evidence: ['title', 'mediaType'],
  controls: ['refId', 'title'],
  policies: ['title'],
  frameworks: ['name', 'version'],
};

type Item = { [member: string]: JsonValue };

/** Told which member of which item had to be left out; never what it held. */
export type OnMasked = (collection: string, id: string, member: string) => void;

/**
 * A canonical item as it may be shown: personal data that was written before it was refused becomes null. Mostly the text
 * is handed back as it is.
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

/** Whether `withoutPersonalData` would show a text as it is, whenever it is read. */
export function isFreeOfPersonalData(collection: string, text: string): boolean {
  return withoutPersonalData(collection, text, () => undefined) === text;
}

/** The text of an item of evidence with its state at this moment. */
export function withStateAt(text: string, nowMs: number): string {
  const item = JSON.parse(text) as Pick<Evidence, 'state' | 'validUntil'>;
  const state = stateAt(item.state, item.validUntil, nowMs);
  return state === item.state ? text : canonical({ ...item, state });
}

/** The text of a control with the number of its evidence that the caller may see. It is stored with none. */
export function withEvidenceCount(text: string, evidenceCount: number): string {
  return evidenceCount === 0 ? text : canonical({ ...(JSON.parse(text) as Item), evidenceCount });
}
