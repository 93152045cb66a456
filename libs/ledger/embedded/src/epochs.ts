import assert from 'node:assert/strict';
import { logName, parseLogName, type Declaration } from '@sealgate/envelope';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';

/** The position of a record: a leaf of a log. `epoch` is absent in a channel's first log. */
export interface Place {
  readonly index: number;
  readonly epoch?: number;
}

/** A log in which a channel continues after a declared loss. */
interface Epoch {
  readonly epoch: number;
  /** Channel position of the first record after the declaration. */
  readonly firstIndex: number;
  readonly declaration: Declaration;
}

interface EpochRow {
  channel: string;
  epoch: number;
  first_index: string;
  statement: string;
}

export const channelOfLog = (log: string): string => parseLogName(log)?.channel ?? log;

/** The log that a channel currently appends to. */
export interface CurrentLog {
  channel: string;
  log: string;
  /** Entries of that log. */
  size: string;
  integrated: string;
  /** Whether the channel waits for this log after a declared loss. */
  is_declared: boolean;
}

/** The current log of every channel. @throws what the query throws. */
export function readCurrentLogs(sql: Sql): Promise<CurrentLog[]> {
  const text = 'SELECT channel, log, size, integrated, is_declared FROM ledger.logs()';
  return sql.query<CurrentLog>({ name: 'ledger logs', text });
}

/** Maximum age of the cache. `resume` waits longer than this plus the longest append. */
const MAX_AGE_MS = 1000;
const REFRESH_AFTER_MS = 500;

/**
 * Cache of the epochs of every channel in which this process has a right. The database numbers a channel's records
 * consecutively; receipts and proofs state the leaf of a log. This class converts between the two. It is refreshed on
 * use, at most twice a second.
 */
export class Epochs {
  readonly #sql: Sql;
  readonly #now: () => number;
  /** Oldest first. */
  #ofChannel: ReadonlyMap<string, readonly Epoch[]> = new Map();
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(sql: Sql, now: () => number) {
    this.#sql = sql;
    this.#now = now;
  }

  /** Resolves once the cache is at most a second old. @throws LedgerUnavailableError, LedgerForbiddenError. */
  async fresh(): Promise<this> {
    const ageMs = this.#now() - this.#readAtMs;
    if (ageMs > REFRESH_AFTER_MS) {
      this.#reading ??= this.read().finally(() => (this.#reading = undefined));
      if (ageMs > MAX_AGE_MS) await this.#reading;
      // A failed refresh is retried by the next call while the cache is still valid.
      else this.#reading.catch(() => undefined);
    }
    return this;
  }

  /** Refreshes now. @throws as `fresh`. */
  async read(): Promise<void> {
    const askedAtMs = this.#now();
    const text = 'SELECT channel, epoch, first_index, statement FROM ledger.epochs(NULL)';
    const rows = await readLedger<EpochRow>(this.#sql, { name: 'ledger epochs', text }, MAX_AGE_MS);
    this.#ofChannel = byChannel(rows);
    this.#readAtMs = askedAtMs;
  }

  /** The epochs of a channel, oldest first. */
  of(channel: string): readonly Epoch[] {
    return this.#ofChannel.get(channel) ?? [];
  }

  /** The channels with a declared loss. */
  get channels(): readonly string[] {
    return [...this.#ofChannel.keys()];
  }

  /** Converts a channel position to a leaf of a log. */
  place(channel: string, position: number): Place {
    const epoch = this.#ofChannel.get(channel)?.findLast(({ firstIndex }) => firstIndex <= position);
    return epoch === undefined ? { index: position } : { index: position - epoch.firstIndex + 1, epoch: epoch.epoch };
  }

  /** Converts a leaf of a log to a channel position. */
  position(channel: string, { index, epoch }: Place): number {
    const firstIndex = this.of(channel).find((one) => one.epoch === epoch)?.firstIndex;
    return firstIndex === undefined ? index : index + firstIndex - 1;
  }

  /** The final checkpoint of an ended log, served for ever; undefined for a current log. */
  lastCheckpoint(log: string): string | undefined {
    const named = parseLogName(log);
    if (named === undefined) return undefined;
    const ends = this.of(named.channel).flatMap(({ declaration }) => declaration.lost);
    return ends.findLast(({ epoch }) => epoch === named.epoch)?.checkpoint;
  }

  /** The declaration at leaf 0 of a log. */
  declaration(log: string): Declaration {
    const { channel, epoch } = parseLogName(log) ?? {};
    const found = this.of(channel ?? log).find((one) => one.epoch === epoch)?.declaration;
    assert(found !== undefined, `No declaration is known for the log ${log}.`);
    return found;
  }

  /** The log that a channel currently appends to. */
  log(channel: string): string {
    return logName(channel, this.of(channel).at(-1)?.epoch ?? 0);
  }
}

function byChannel(rows: readonly EpochRow[]): Map<string, Epoch[]> {
  const epochs = Map.groupBy(rows, ({ channel }) => channel);
  return new Map(
    [...epochs].map(([channel, of]) => [
      channel,
      of.map(({ epoch, first_index: firstIndex, statement }) => ({
        epoch,
        firstIndex: Number(firstIndex),
        declaration: JSON.parse(statement) as Declaration,
      })),
    ]),
  );
}
