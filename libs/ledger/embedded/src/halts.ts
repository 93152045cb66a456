import { parseChannel } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import { LedgerLostError, type LedgerCorruptError, type Loss } from './ledger-corrupt-error.ts';

/** A channel that is not as it was left, as the database tells every process. */
export interface Halt {
  readonly channel: string;
  readonly problem: string;
  /** Where records that were signed for are missing: the channel takes no more. */
  readonly loss: Loss | undefined;
}

interface HaltRow {
  channel: string;
  problem: string;
  kept: string | null;
  lost_from: string | null;
  lost_until: string | null;
}

const READ_WITHIN_MS = 2000;

/** Those in which the role of this process has a right. @throws LedgerUnavailableError. */
export async function readHalts(sql: Sql, deadlineMs = READ_WITHIN_MS): Promise<Halt[]> {
  const text = 'SELECT channel, problem, kept, lost_from, lost_until FROM ledger.halts_v1()';
  const rows = await readLedger<HaltRow>(sql, { text }, deadlineMs);
  return rows.map(({ channel, problem, kept, lost_from: from, lost_until: until }) => ({
    channel,
    problem,
    loss: kept === null ? undefined : { kept, from: Number(from), until: Number(until) },
  }));
}

export interface HaltedChannelsOptions {
  readonly sql: Sql;
  readonly now: () => number;
  /** A channel was halted: nothing is signed for it until it is as it was left. */
  readonly onHalted?: (channel: string, problem: string) => void;
  readonly onResumed?: (channel: string) => void;
}

/** The channels that the integrator of this process has halted. It tells the database, and the database every process. */
export class HaltedChannels {
  readonly #options: HaltedChannelsOptions;
  readonly #halted = new Map<string, LedgerCorruptError>();
  /** What the database says: the problem of each. */
  readonly #stored = new Map<string, string>();

  constructor(options: HaltedChannelsOptions) {
    this.#options = options;
  }

  get problems(): ReadonlyMap<string, string> {
    return new Map([...this.#halted].map(([channel, { message }]) => [channel, message]));
  }

  get(channel: string): LedgerCorruptError | undefined {
    return this.#halted.get(channel);
  }

  /** What the database was found to say of a channel. */
  seen(channel: string, halt: Halt | undefined): void {
    if (halt === undefined) this.#stored.delete(channel);
    else this.#stored.set(channel, halt.problem);
  }

  /** Told once for each problem. A loss is stored each time, because it also keeps appends away. @throws what storing it does. */
  async halt(channel: string, error: LedgerCorruptError): Promise<void> {
    const { message } = error;
    const isNew = this.#halted.get(channel)?.message !== message;
    this.#halted.set(channel, error);
    if (isNew) this.#options.onHalted?.(channel, message);
    const loss = error instanceof LedgerLostError ? error.loss : undefined;
    if (loss === undefined && this.#stored.get(channel) === message) return;
    const network = parseChannel(channel)?.networkId ?? channel;
    const lost = [loss?.kept ?? null, loss?.from ?? null, loss?.until ?? null];
    await this.#options.sql.query({
      text: 'SELECT ledger.halt_v1($1, $2, $3, $4, $5, $6, $7)',
      values: [network, channel, message, ...lost, Math.floor(this.#options.now())],
    });
    this.#stored.set(channel, message);
  }

  async resume(channel: string): Promise<void> {
    if (this.#stored.has(channel))
      await this.#options.sql.query({ text: 'SELECT ledger.resume_v1($1)', values: [channel] });
    this.#stored.delete(channel);
    if (this.#halted.delete(channel)) this.#options.onResumed?.(channel);
  }
}
