import assert from 'node:assert/strict';
import { logName, parseLogName, type Declaration } from '@sealgate/envelope';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';

/** Where a record is: a leaf of a log. `epoch` is absent in the log that a channel begins with. */
export interface Place {
  readonly index: number;
  readonly epoch?: number;
}

/** The log that a channel goes on in after a declared loss. */
export interface Epoch {
  readonly epoch: number;
  /** The record that stands behind the declaration, in the numbering of the channel. */
  readonly firstIndex: number;
  readonly declaration: Declaration;
}

interface EpochRow {
  channel: string;
  epoch: number;
  first_index: string;
  statement: string;
}

/** The log of this name belongs to that channel. */
export const channelOfLog = (log: string): string => parseLogName(log)?.channel ?? log;

/** The log that a channel goes on in, as the integrator is told it. */
export interface CurrentLog {
  channel: string;
  log: string;
  /** In entries of that log. */
  size: string;
  integrated: string;
  /** Whether the channel waits for it, after a declared loss. */
  is_declared: boolean;
}

/** Those of every channel. @throws what the query does. */
export function readCurrentLogs(sql: Sql): Promise<CurrentLog[]> {
  const text = 'SELECT channel, log, size, integrated, is_declared FROM ledger.logs_v1()';
  return sql.query<CurrentLog>({ name: 'ledger logs', text });
}

/** What is read is believed for so long. `resume_v2` waits for longer than that and the longest append after it. */
const BELIEVED_MS = 1000;
const READ_AGAIN_MS = 500;

/**
 * The epochs of every channel in which this process has a right. The database numbers the records of a channel throughout;
 * receipts and proofs state the leaf of a log: this is where the one becomes the other. Read once a second where it is asked.
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

  /** Resolves when what is known is not older than a second. @throws LedgerUnavailableError, LedgerForbiddenError. */
  async fresh(): Promise<this> {
    const ageMs = this.#now() - this.#readAtMs;
    if (ageMs > READ_AGAIN_MS) {
      this.#reading ??= this.read().finally(() => (this.#reading = undefined));
      if (ageMs > BELIEVED_MS) await this.#reading;
      // What cannot be read now is asked for again while the last answer still counts.
      else this.#reading.catch(() => undefined);
    }
    return this;
  }

  /** Reads them now. @throws as `fresh`. */
  async read(): Promise<void> {
    const askedAtMs = this.#now();
    const text = 'SELECT channel, epoch, first_index, statement FROM ledger.epochs_v1(NULL)';
    const rows = await readLedger<EpochRow>(this.#sql, { name: 'ledger epochs', text }, BELIEVED_MS);
    this.#ofChannel = byChannel(rows);
    this.#readAtMs = askedAtMs;
  }

  /** Those of a channel, oldest first. */
  of(channel: string): readonly Epoch[] {
    return this.#ofChannel.get(channel) ?? [];
  }

  /** The place of a record. */
  place(channel: string, position: number): Place {
    const epoch = this.#ofChannel.get(channel)?.findLast(({ firstIndex }) => firstIndex <= position);
    return epoch === undefined ? { index: position } : { index: position - epoch.firstIndex + 1, epoch: epoch.epoch };
  }

  /** Its number in the channel. */
  position(channel: string, { index, epoch }: Place): number {
    const firstIndex = this.of(channel).find((one) => one.epoch === epoch)?.firstIndex;
    return firstIndex === undefined ? index : index + firstIndex - 1;
  }

  /** The checkpoint that a log ended with, which is shown for ever; undefined for the one that the channel goes on in. */
  lastCheckpoint(log: string): string | undefined {
    const named = parseLogName(log);
    if (named === undefined) return undefined;
    const ends = this.of(named.channel).flatMap(({ declaration }) => declaration.lost);
    return ends.findLast(({ epoch }) => epoch === named.epoch)?.checkpoint;
  }

  /** What a log begins with. */
  declaration(log: string): Declaration {
    const { channel, epoch } = parseLogName(log) ?? {};
    const found = this.of(channel ?? log).find((one) => one.epoch === epoch)?.declaration;
    assert(found !== undefined, `The log ${log} begins with no declaration that is known here.`);
    return found;
  }

  /** The log that a channel goes on in. */
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
