import { hash } from 'node:crypto';
import type { Asked, Line } from '../history.ts';
import { digestOf, isObject, listOf, membersOf, type Members } from './canonical.ts';
import type { LedgerRecord } from './ledger-records.ts';
import { rowContent, sentAssets, sentDelivery, sentRecords, type SentRecord } from './sent-records.ts';

/** One text under one key, or one content of an asset, over all attempts to write it. */
export interface Order {
  readonly name: string;
  /** The first line about it. */
  readonly number: number;
  readonly act: string;
  readonly records: readonly SentRecord[];
  /** Attempts that were told it is written; of those, how many were not marked as a replay. */
  written: number;
  originals: number;
  /** Attempts of which nobody knows: without an answer, or with one that says so. */
  unknown: number;
  /** The newest attempt that was told that it wrote nothing. */
  refused?: { readonly number: number; readonly code: string };
  /** Rows without a receipt that hold this content. */
  found: number;
}

interface Receipt {
  readonly number: number;
  readonly digest: string;
  /** Whether a row was found. */
  isThere: boolean;
}

export type AttemptOutcome = 'written' | 'refused' | 'unknown';

/** Codes of 503 that say that this attempt wrote nothing. All of 4xx do. */
const NOT_WRITTEN: ReadonlySet<string> = new Set(['UNAVAILABLE', 'LEDGER_UNAVAILABLE', 'OVERLOADED']);

export const codeIn = (text = ''): string => /"code":"([A-Z_]+)"/.exec(text)?.[1] ?? '';

/** What an answer says about whether its attempt wrote. */
export function outcomeOf({ status, text }: Pick<Asked, 'status' | 'text'>): AttemptOutcome {
  if (status === undefined) return 'unknown';
  if (status < 300) return 'written';
  return (status >= 400 && status < 500) || NOT_WRITTEN.has(codeIn(text)) ? 'refused' : 'unknown';
}

const receiptDigest = (id: string, transactionId: string, leafHash: string, content: string): string =>
  digestOf(id, transactionId, leafHash, content);

/** All writes to the ledger by senders (`write`, `deliver`, `sync`), and the rows that they have. */
export class KeyedWrites {
  readonly orders = new Map<string, Order>();
  /** By channel and index. */
  readonly receipts = new Map<string, Receipt[]>();
  /** Of assets, which are found by their id: channel and id. */
  readonly assets = new Map<string, Receipt>();
  readonly breaches: string[] = [];
  /** By key: of the first text. */
  readonly #firsts = new Map<string, Order>();
  readonly #waiting = new Map<string, { asked: Asked; number: number }[]>();
  readonly #networks = new Set<string>();
  /** By id: one for each content. */
  readonly #assetOrders = new Map<string, Order[]>();
  readonly #assetChannels = new Set<string>();
  #byContent: Map<string, Order[]> | undefined;

  line(line: Line, number: number): void {
    if (line.is !== 'asked') return;
    if (line.act === 'sync') return this.#sync(line, number);
    if (line.act === 'job') return this.#job(line, number);
    if (line.act === 'write' || line.act === 'deliver') this.#write(line, number);
  }

  /** A later line under the key may have the text. */
  #write(asked: Asked, number: number): void {
    this.#networks.add(asked.as);
    const name = asked.key === undefined ? `line ${number}` : `${asked.act} ${asked.as} ${asked.key}`;
    const waiting = this.#waiting.get(name) ?? [];
    const order = this.#orderOf(name, asked, number);
    if (order === undefined) return void this.#waiting.set(name, [...waiting, { asked, number }]);
    for (const one of [...waiting, { asked, number }]) this.#attempt(order, one.asked, one.number);
    this.#waiting.delete(name);
  }

  /** Without a text: that of the first one. */
  #orderOf(name: string, { act, target, key = '', sent }: Asked, number: number): Order | undefined {
    const body = sent?.body;
    if (body === undefined) return this.#firsts.get(name);
    const place = `${name} ${hash('sha256', body, 'base64url').slice(0, 22)}`;
    const known = this.orders.get(place);
    if (known !== undefined) return known;
    const records = act === 'deliver' ? [sentDelivery(body, target.split('/').at(-1) ?? '', key)] : sentRecords(body);
    const order = { name, number, act, records, written: 0, originals: 0, unknown: 0, found: 0 };
    this.orders.set(place, order);
    if (!this.#firsts.has(name)) this.#firsts.set(name, order);
    return order;
  }

  #attempt(order: Order, asked: Asked, number: number): void {
    const outcome = outcomeOf(asked);
    if (outcome === 'written') this.#written(order, asked, number);
    if (outcome === 'unknown') order.unknown += 1;
    if (outcome === 'refused') order.refused = { number, code: codeIn(asked.text) || String(asked.status) };
  }

  #written(order: Order, { text, as, replayed = false }: Asked, number: number): void {
    const receipts = listOf(membersOf(text), 'records');
    // A webhook whose id was used with other bytes is told so with 200, and writes nothing.
    if (order.act === 'deliver' && receipts.length === 0) return;
    order.written += 1;
    if (!replayed) order.originals += 1;
    const sent = order.records.flatMap((record) => Array.from({ length: record.copies }, () => record));
    if (sent.length !== receipts.length)
      this.breaches.push(`line ${number}: ${sent.length} records were sent, and ${receipts.length} receipts came`);
    for (const [at, receipt] of receipts.entries())
      if (sent[at] !== undefined) this.#receipt(receipt, sent[at], { as, number });
  }

  #receipt(receipt: Members, sent: SentRecord, { as, number }: { as: string; number: number }): void {
    const { channel, index, id, transactionId, leafHash } = receipt;
    if (typeof channel !== 'string' || typeof index !== 'number')
      return void this.breaches.push(`line ${number}: a receipt names no place`);
    if (!channel.startsWith(`${as}.`)) this.breaches.push(`line ${number}: ${as} was given a receipt of ${channel}`);
    if (sent.id !== undefined && sent.id !== id)
      this.breaches.push(`line ${number}: the record ${sent.id} was given a receipt of ${String(id)}`);
    const digest = receiptDigest(String(id), String(transactionId), String(leafHash), sent.digest);
    const places = this.receipts.get(channel) ?? [];
    this.receipts.set(channel, places);
    const known = places[index];
    if (known !== undefined && known.digest !== digest)
      this.breaches.push(`lines ${known.number} and ${number}: two records were told to be ${channel}/${index}`);
    places[index] ??= { number, digest, isThere: false };
  }

  #sync(asked: Asked, number: number): void {
    const outcome = outcomeOf(asked);
    const told = membersOf(asked.text);
    const states = outcome === 'written' ? assetStates(told) : undefined;
    const assets = sentAssets(asked.sent?.body ?? '');
    for (const { id, digest } of assets) {
      const order = this.#assetOrder(id, digest, number);
      countAsset(order, states === undefined ? outcome : (states.get(id) ?? 'unknown'), asked, number);
    }
    if (states !== undefined) this.#assetReceipts(told, number, new Map(assets.map(({ id, digest }) => [id, digest])));
  }

  #assetOrder(id: string, digest: string, number: number): Order {
    const ofId = this.#assetOrders.get(id) ?? [];
    const known = ofId.find(({ records }) => records[0]!.digest === digest);
    if (known !== undefined) return known;
    const counts = { written: 0, originals: 0, unknown: 0, found: 0 };
    const order = { name: `asset ${id}`, number, act: 'sync', records: [{ id, copies: 1, digest }], ...counts };
    this.#assetOrders.set(id, [...ofId, order]);
    this.orders.set(`asset ${id} ${digest}`, order);
    return order;
  }

  /** `contents`: what was sent, by id. */
  #assetReceipts(told: Members, number: number, contents: ReadonlyMap<string, string>): void {
    for (const { channel, transactionId, assetIds } of listOf(told, 'transactions'))
      for (const id of Array.isArray(assetIds) ? (assetIds as string[]) : []) {
        if (!contents.has(id)) continue;
        const place = `${String(channel)} ${id}`;
        this.#assetChannels.add(String(channel));
        const digest = digestOf(id, String(transactionId), contents.get(id)!);
        const known = this.assets.get(place);
        if (known !== undefined && known.digest !== digest)
          this.breaches.push(`lines ${known.number} and ${number}: two writes were told to be the asset ${id}`);
        this.assets.set(place, known ?? { number, digest, isThere: false });
      }
  }

  /** The result of a promise: what became of assets whose outcome was not known. */
  #job(asked: Asked, number: number): void {
    const { result } = membersOf(asked.text);
    if (outcomeOf(asked) !== 'written' || !isObject(result)) return;
    const contents = new Map<string, string>();
    for (const [id, state] of assetStates(result)) {
      const [order, ...others] = (this.#assetOrders.get(id) ?? []).filter(({ unknown }) => unknown > 0);
      if (state !== 'written' || order === undefined || others.length > 0) continue;
      order.written += 1;
      contents.set(id, order.records[0]!.digest);
    }
    this.#assetReceipts(result, number, contents);
  }

  /** Whether records of this channel are written by senders alone. */
  isOfSenders({ network, channel, id }: LedgerRecord): boolean {
    return this.#networks.has(network) || this.#assetChannels.has(channel) || this.#assetOrders.has(id);
  }

  /** The orders without an answer that could have made a row of this content. */
  ordersOf(content: string): readonly Order[] {
    this.#byContent ??= this.#contents();
    return this.#byContent.get(content) ?? [];
  }

  #contents(): Map<string, Order[]> {
    const all = new Map<string, Order[]>();
    for (const order of this.orders.values()) {
      if (order.written > 0) continue;
      for (const { digest } of order.records) all.set(digest, [...(all.get(digest) ?? []), order]);
    }
    return all;
  }

  /** Lines whose text no line told. */
  get untold(): readonly number[] {
    return [...this.#waiting.values()].flatMap((lines) => lines.map(({ number }) => number));
  }

  /** The receipt of a row, if one names it. */
  receiptOf(row: LedgerRecord): { readonly receipt: Receipt; readonly isSame: boolean } | undefined {
    const content = rowContent(row) ?? '';
    const placed = this.receipts.get(row.channel)?.[row.index];
    const named = this.assets.get(`${row.channel} ${row.id}`);
    const digest =
      placed === undefined
        ? digestOf(row.id, row.transactionId, content)
        : receiptDigest(row.id, row.transactionId, String(row.leafHash), content);
    const receipt = placed ?? named;
    return receipt && { receipt, isSame: row.data === null || receipt.digest === digest };
  }
}

function countAsset(order: Order, state: AttemptOutcome, { text, status }: Asked, number: number): void {
  if (state === 'written') order.written += 1;
  if (state === 'unknown') order.unknown += 1;
  if (state === 'refused') order.refused = { number, code: codeIn(text) || String(status) };
}

/** What the answer of a sync says of each asset. */
function assetStates(told: Members): Map<string, AttemptOutcome> {
  const { succeeded } = told;
  return new Map<string, AttemptOutcome>([
    ...listOf(told, 'failed').map(({ id }) => [String(id), 'refused'] as const),
    ...listOf(told, 'pending').map(({ id }) => [String(id), 'unknown'] as const),
    ...(Array.isArray(succeeded) ? succeeded : []).map((id) => [String(id), 'written'] as const),
  ]);
}
