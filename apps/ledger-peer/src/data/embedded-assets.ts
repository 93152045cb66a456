import type { JsonValue } from '@sealgate/json';
import type { EmbeddedLedger, Epochs, OnResult } from '@sealgate/ledger-embedded';
import {
  ChannelHaltedError,
  LedgerOverloadedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type AppendUnit,
  type RecordReceipt,
  type StoredRecord,
  type UnitResult,
} from '@sealgate/ledger-port';
import { parseBundlePath, parseTilePath } from '@sealgate/merkle';
import { DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import type { AssetLedger, NewAsset, SettleOutcome, WriteOutcome } from '../domain/asset-ledger.ts';
import type { Target } from '../domain/mapping.ts';
import type { PublicLog } from '../domain/public-log.ts';
import { textOfStored } from './record-text.ts';
import type { WrittenTransaction } from '../domain/asset-result.ts';

interface EmbeddedAssets extends AssetLedger {
  /** Receives results that arrive after the caller was answered. */
  readonly onResult: OnResult;
}

/** Maximum records of one append unit, of any surface: the distance to the beginning of a transaction. */
const MOST_IN_UNIT = 1000;

/** Maximum content of a page: that of the largest asset, so that a page costs no more memory. */
const MOST_IN_PAGE_BYTES = 8_388_608;

/** Assets as records of the embedded ledger. An id is unique in a channel, across surfaces. */
export function embeddedAssets(options: {
  readonly ledger: EmbeddedLedger;
  /** To find where a transaction begins. */
  readonly sql: Sql;
  /** How long `settle` waits for appends of this process. */
  readonly settleWithinMs: number;
}): EmbeddedAssets {
  const { ledger, sql, settleWithinMs } = options;
  const late = new LateResults();
  const assets: EmbeddedAssets = {
    // Nobody signs on this ledger but the ledger.
    as: () => assets,
    onResult: (_result, { unit, isLate }) => {
      if (isLate) late.settled(unit);
    },
    takesMany: () => true,
    async write(target, assets) {
      const unit = unitOf(target, assets);
      try {
        const result = await ledger.append(unit);
        return await outcomeOf({ sql, epochs: ledger.epochs }, unit, result);
      } catch (error) {
        if (error instanceof OutcomeUnknownError) late.await(error.transactionId, unit);
        return failureOf(error);
      }
    },
    // There is no journal, and none is needed: an asset that is sent again is found, not written again.
    recall: (_jobId, parts) => Promise.resolve(parts.map(() => new Map())),
    async settle(_target, _assets, transactionId): Promise<SettleOutcome> {
      // While this process resends the same bytes, they are not sent under another name.
      const isOver = await late.isOver(transactionId, settleWithinMs);
      return isOver ? { outcome: 'again' } : { outcome: 'unknown', transactionId };
    },
    async read({ channel }, id) {
      const row = await ledger.readRow(channel, id);
      if (row === undefined) return undefined;
      const where = (await ledger.epochs.fresh()).place(channel, Number(row.idx));
      return { text: textOfStored({ ...row, erased: row.salt === null }, where), type: row.type };
    },
    async query({ channel }, { type, limit, after }) {
      const afterId = typeof after === 'string' ? after : '';
      const { records, more } = await ledger.queryPage({ channel, type, afterId, limit, maxBytes: MOST_IN_PAGE_BYTES });
      return { assets: records.map(assetOf), next: more ? records.at(-1)?.id : undefined };
    },
  };
  return assets;
}

/** The public transparency log. */
export function embeddedLog(ledger: EmbeddedLedger, origin: string): PublicLog {
  return {
    prove: (channel, id, serves) => ledger.prove(channel, id, serves),
    checkpoint: (log) => ledger.checkpoint(log),
    logKeys: (log) => ledger.logKeys(log),
    async logs(channel) {
      const epochs = (await ledger.epochs.fresh()).of(channel);
      if (epochs.length === 0 && (await ledger.checkpoint(channel)) === undefined) return [];
      const first = { epoch: 0, origin: `${origin}/${channel}`, declaration: null };
      const later = epochs.map(({ epoch, declaration }) => ({ epoch, origin: declaration.origin, declaration }));
      return [first, ...later];
    },
    declaration: (channel, epoch) => ledger.declaration(channel, epoch),
    async tile(log, path) {
      const tile = parseTilePath(path);
      return tile === undefined ? undefined : ledger.tile(log, tile);
    },
    async entries(log, path) {
      const bundle = parseBundlePath(path);
      return bundle === undefined ? undefined : ledger.entries(log, bundle);
    },
    find: (channel, wanted) => ledger.search.entry(channel, wanted),
    growth: (channel) => ledger.search.growth(channel),
  };
}

function unitOf({ network, channel }: Target, assets: readonly NewAsset[]): AppendUnit {
  const records = assets.map(({ id, type, text }) => ({ id, type, owner: null, data: text, extra: null }));
  return { network, channel, note: '', records };
}

interface Numbering {
  readonly sql: Sql;
  /** The database numbers records across a channel; receipts use positions in one log. */
  readonly epochs: Epochs;
}

async function outcomeOf(numbering: Numbering, unit: AppendUnit, result: UnitResult): Promise<WriteOutcome> {
  if (result.outcome === 'conflict') {
    return { outcome: 'refused', code: 'RECORD_CONFLICT', message: 'The id is taken by other content.', id: result.id };
  }
  if (result.outcome === 'reused') throw new Error('A unit without a claim cannot reuse one.');
  const { transactionId, records } = result;
  if (result.outcome === 'written' && records.every(({ existing }) => !existing)) {
    const assetIds = unit.records.map(({ id }) => id);
    return {
      outcome: 'committed',
      transactions: [{ transactionId, blockNumber: numberOf(numbering, records[0]) ?? null, assetIds }],
    };
  }
  return { outcome: 'committed', transactions: await transactionsOf(numbering, unit.channel, records) };
}

function numberOf({ epochs }: Numbering, receipt: RecordReceipt | undefined): number | undefined {
  if (receipt?.index === undefined) return undefined;
  const { channel, index, epoch } = receipt;
  return epochs.position(channel, { index, ...(epoch === undefined ? {} : { epoch }) });
}

/** Each existing record shows the transaction that wrote it. */
async function transactionsOf(
  numbering: Numbering,
  channel: string,
  records: readonly RecordReceipt[],
): Promise<WrittenTransaction[]> {
  const groups = [...Map.groupBy(records, ({ transactionId }) => transactionId)];
  return Promise.all(
    groups.map(async ([transactionId, of]) => {
      const first = Math.min(...of.map((receipt) => numberOf(numbering, receipt) ?? 0));
      const isOurs = of.every(({ existing }) => !existing);
      const blockNumber = isOurs ? first : await firstIndexOf(numbering.sql, channel, { transactionId, index: first });
      return { transactionId, blockNumber, assetIds: of.map(({ id }) => id) };
    }),
  );
}

/** New records of a transaction are contiguous, so it begins where the previous one ends. */
async function firstIndexOf(
  sql: Sql,
  channel: string,
  { transactionId, index }: { transactionId: string; index: number },
): Promise<number | null> {
  const before = async (count: number): Promise<{ idx: string; transaction_id: string }[]> => {
    const from = Math.max(0, index - count);
    const places = Array.from({ length: index - from }, (_, at) => String(from + at));
    return sql.query({
      name: 'peer receipts',
      text: 'SELECT idx, transaction_id FROM ledger.receipts($1, $2) ORDER BY idx DESC',
      values: [channel, places],
    });
  };
  try {
    const [last] = index === 0 ? [] : await before(1);
    if (last?.transaction_id !== transactionId) return index;
    const rows = await before(MOST_IN_UNIT);
    const end = rows.findIndex((row) => row.transaction_id !== transactionId);
    return Number((end < 0 ? rows.at(-1) : rows[end - 1])?.idx ?? index);
  } catch (error) {
    // The assets are written; only the beginning of their transaction cannot be read now.
    if (error instanceof DatabaseUnavailableError) return null;
    throw error;
  }
}

function failureOf(error: unknown): WriteOutcome {
  if (error instanceof OutcomeUnknownError) return { outcome: 'unknown', transactionId: error.transactionId };
  if (error instanceof ChannelHaltedError) return { outcome: 'halted', message: error.message };
  if (error instanceof LedgerUnavailableError) return { outcome: 'unavailable' };
  if (error instanceof LedgerOverloadedError) return { outcome: 'overloaded' };
  throw error;
}

/** An asset for clients. A record that another surface wrote shows its owner and its extra. */
function assetOf(record: StoredRecord): JsonValue {
  const { id, type, owner, data, extra, channel, index, epoch, transactionId, at, erased } = record;
  if (erased) return { id, type, data: null, erased: true };
  return {
    id,
    type,
    data,
    owner,
    extra,
    channel,
    index: index ?? null,
    ...(epoch === undefined ? {} : { epoch }),
    transactionId,
    at,
  };
}

/** Units that were answered as "unknown" and that this process keeps resending. */
class LateResults {
  readonly #open = new Map<
    string,
    { readonly unit: AppendUnit; readonly over: Promise<void>; readonly end: () => void }
  >();

  await(transactionId: string, unit: AppendUnit): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open.set(transactionId, { unit, over: promise, end: resolve });
    // The ledger gives up silently after two minutes, so older ones are finished, too.
    const timer = setTimeout(() => this.#end(transactionId), FORGET_AFTER_MS);
    timer.unref();
  }

  settled(unit: AppendUnit): void {
    for (const [transactionId, open] of this.#open) if (open.unit === unit) this.#end(transactionId);
  }

  async isOver(transactionId: string, withinMs: number): Promise<boolean> {
    const open = this.#open.get(transactionId);
    if (open === undefined) return true;
    const { promise: tooLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    await Promise.race([open.over, tooLate]);
    clearTimeout(timer);
    return !this.#open.has(transactionId);
  }

  #end(transactionId: string): void {
    this.#open.get(transactionId)?.end();
    this.#open.delete(transactionId);
  }
}

const FORGET_AFTER_MS = 180_000;
