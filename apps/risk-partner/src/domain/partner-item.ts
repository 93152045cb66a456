import { canonical, type JsonValue } from '@sealgate/json';
import { stateAt } from './evidence.ts';
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

/**
 * The text of an item of evidence with its state at this moment. Within a string each quotation mark is escaped, so the
 * member can be found and exchanged in the text.
 */
export function withStateAt(text: string, nowMs: number): string {
  const validUntil = /,"validUntil":"([^"]+)"/.exec(text)?.[1] ?? null;
  const state = stateAt(text.includes(APPROVED) ? 'approved' : 'collected', validUntil, nowMs);
  return state === 'expiring' || state === 'expired' ? text.replace(APPROVED, `,"state":"${state}",`) : text;
}

const APPROVED = ',"state":"approved",';

/** The text of a control with the number of its evidence that the caller may see. */
export function withEvidenceCount(text: string, count: number): string {
  return text.replace(',"evidenceCount":0,', `,"evidenceCount":${count},`);
}
