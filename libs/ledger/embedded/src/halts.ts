import type { LostEntries } from '@sealgate/envelope';
import { parseChannel, type LedgerHealth } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import { LedgerLostError, type LedgerCorruptError } from './ledger-corrupt-error.ts';

/** A halted channel, as stored in the database for all processes. */
export interface Halt {
  readonly channel: string;
  readonly problem: string;
  /** Signed records that are missing: appends are refused. Undefined if nothing is known to be lost. */
  readonly losses: readonly LostEntries[] | undefined;
  /** Whether the loss was declared: the channel resumes once its next epoch is signed. */
  readonly isDeclared: boolean;
  readonly atMs: number;
  /** Time of the last record covered by both the database and the kept checkpoints; undefined if there is none. */
  readonly sharedAtMs: number | undefined;
}

interface HaltRow {
  channel: string;
  problem: string;
  losses: LostEntries[] | null;
  at_ms: string;
  declared: boolean;
  shared_at_ms: string | null;
}

const READ_WITHIN_MS = 2000;

/** The halts of channels in which this role has a right. @throws LedgerUnavailableError. */
export async function readHalts(sql: Sql, deadlineMs = READ_WITHIN_MS): Promise<Halt[]> {
  const text = 'SELECT channel, problem, losses, at_ms, declared, shared_at_ms FROM ledger.halts()';
  const rows = await readLedger<HaltRow>(sql, { text }, deadlineMs);
  return rows.map(({ channel, problem, losses, declared, at_ms: atMs, shared_at_ms: sharedAtMs }) => ({
    channel,
    problem,
    losses: losses ?? undefined,
    isDeclared: declared,
    atMs: Number(atMs),
    sharedAtMs: sharedAtMs === null ? undefined : Number(sharedAtMs),
  }));
}

export interface HaltedChannelsOptions {
  readonly sql: Sql;
  readonly now: () => number;
  /** Called when a channel is halted: nothing is signed for it until it is restored. */
  readonly onHalted?: (channel: string, problem: string) => void;
  readonly onResumed?: (channel: string) => void;
}

/**
 * The channels halted by this process's integrator. Halts are stored in the database, where every process reads them.
 */
export class HaltedChannels {
  readonly #options: HaltedChannelsOptions;
  readonly #halted = new Map<string, LedgerCorruptError>();
  /** Problem of each halt stored in the database. */
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

  /** Notes the halt read from the database. */
  seen(channel: string, halt: Halt | undefined): void {
    if (halt === undefined) this.#stored.delete(channel);
    else this.#stored.set(channel, halt.problem);
  }

  /**
   * Reports each problem once. Stores a loss every time, because that also blocks appends. @throws what storing it
   * throws.
   */
  async halt(channel: string, error: LedgerCorruptError): Promise<void> {
    const { message } = error;
    const isNew = this.#halted.get(channel)?.message !== message;
    this.#halted.set(channel, error);
    if (isNew) this.#options.onHalted?.(channel, message);
    const losses = error instanceof LedgerLostError ? error.losses : undefined;
    if (losses === undefined && this.#stored.get(channel) === message) return;
    const network = parseChannel(channel)?.networkId ?? channel;
    const lost = losses === undefined ? null : JSON.stringify(losses);
    await this.#options.sql.query({
      text: 'SELECT ledger.halt($1, $2, $3, $4, $5)',
      values: [network, channel, message, lost, Math.floor(this.#options.now())],
    });
    this.#stored.set(channel, message);
  }

  /** False while a declared loss waits for its epoch to be signed and known to every process. */
  async resume(channel: string): Promise<boolean> {
    if (this.#stored.has(channel)) {
      const statement = { text: 'SELECT ledger.resume($1) AS resumed', values: [channel] };
      const [row] = await this.#options.sql.query<{ resumed: boolean }>(statement);
      if (row?.resumed !== true) return false;
    }
    this.#stored.delete(channel);
    if (this.#halted.delete(channel)) this.#options.onResumed?.(channel);
    return true;
  }
}

/** The health of the ledger as seen by this process. Never rejects. */
export async function healthOf(
  sql: Sql,
  integrator: { readonly halted: ReadonlyMap<string, string>; readonly channelCount: number } | undefined,
): Promise<LedgerHealth> {
  try {
    const halts = await readHalts(sql, 1000);
    if (integrator === undefined) {
      // The process can still serve reads and proofs: it stays healthy and names the halted channels.
      return { ok: true, problem: halts.length === 0 ? null : problemOf(halts.map(({ problem }) => problem)) };
    }
    const problems = new Map([...integrator.halted]);
    for (const { channel, problem } of halts) if (!problems.has(channel)) problems.set(channel, problem);
    // Channels that are not halted are still signed: unhealthy only if all are halted.
    return {
      ok: problems.size === 0 || problems.size < integrator.channelCount,
      problem: problems.size === 0 ? null : problemOf([...problems.values()]),
    };
  } catch {
    return { ok: false, problem: 'the database of the ledger does not answer' };
  }
}

const MAX_PROBLEMS = 5;

/** The problems of halted channels in one text, limited to the first few. */
function problemOf(problems: readonly string[]): string {
  const more = problems.length > MAX_PROBLEMS ? [`And ${problems.length - MAX_PROBLEMS} more.`] : [];
  return [...problems.slice(0, MAX_PROBLEMS), ...more].join(' ');
}
