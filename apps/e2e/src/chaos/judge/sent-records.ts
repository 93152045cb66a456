import { hash } from 'node:crypto';
import { canonical, digestOf, isObject, membersOf, parsed, type Json, type Members } from './canonical.ts';

/** What a record must be, by its sender. */
export interface SentRecord {
  /** Absent: the service chooses. */
  readonly id: string | undefined;
  /** As often it is written, once for each channel. */
  readonly copies: number;
  /** Of its content. */
  readonly digest: string;
}

/** As interface.md names them; matched without regard to ASCII case. */
const STRIPPED = new Set(['password', 'ssn', 'social_security_number', 'credit_card', 'credit_card_number', 'cvv']);
const RESERVED = new Set(['id', 'type', 'owner', 'data', 'targetChannels']);

function strip(value: Json): Json {
  if (Array.isArray(value)) return value.map(strip);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !STRIPPED.has(name.toLowerCase()));
  return Object.fromEntries(kept.map(([name, inner]) => [name, strip(inner)]));
}

const text = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

/** The content of a row of a write or a synced asset, to be compared with that of what was sent. */
export const contentOf = (type: string, owner: string | null, data: string, extra: string | null): string =>
  digestOf('record', type, owner, data, extra);

/** The records of a body to the ingest gateway (surface D), in their order. */
export function sentRecords(body: string): SentRecord[] {
  const value = parsed(body) ?? null;
  const isBatch = isObject(value) && Array.isArray(value['assets']);
  return (isBatch ? (value['assets'] as Json[]) : [value]).map(sentRecord);
}

function sentRecord(value: Json): SentRecord {
  const members: Members = isObject(value) ? value : { data: { value } };
  const others = Object.fromEntries(Object.entries(members).filter(([name]) => !RESERVED.has(name)));
  const isWhole = members['data'] === undefined;
  const data = canonical(strip(isWhole ? others : members['data']!));
  const beside = canonical(strip(isWhole ? {} : others));
  const { id, type, owner, targetChannels } = members;
  return {
    id: text(id),
    copies: Array.isArray(targetChannels) ? targetChannels.length : 1,
    digest: contentOf(text(type) ?? 'unknown', text(owner) ?? null, data, beside === '{}' ? null : beside),
  };
}

/** The assets of a body to the ledger peer (surface C), in their order. */
export function sentAssets(body: string): { readonly id: string; readonly digest: string }[] {
  const { assets } = membersOf(body);
  const all = Array.isArray(assets) ? (assets as Json[]).filter(isObject) : [];
  return all.map(({ id, type, data }) => ({
    id: text(id) ?? '',
    digest: contentOf(text(type) ?? '', null, canonical(data ?? null), null),
  }));
}

/** The record of a webhook: its data, and which source and delivery it names. Its type is configured, so it is not compared. */
export function sentDelivery(body: string, sourceId: string, deliveryId: string): SentRecord {
  const data = canonical(strip(parsed(body) ?? null));
  const bodySha256 = hash('sha256', body, 'hex');
  return { id: undefined, copies: 1, digest: digestOf('delivery', data, sourceId, deliveryId, bodySha256) };
}

/** The content of a row; that of a webhook names its source. */
export function rowContent(row: {
  readonly type: string;
  readonly owner: string | null;
  readonly data: string | null;
  readonly extra: string | null;
}): string | undefined {
  if (row.data === null) return undefined;
  const { source, deliveryId, bodySha256 } = membersOf(row.extra ?? undefined);
  const names = [source, deliveryId, bodySha256].map(text);
  if (names.every((name) => name !== undefined)) return digestOf('delivery', row.data, ...names);
  return contentOf(row.type, row.owner, row.data, row.extra);
}
