import { AppError } from '@sealgate/errors';
import { ledgerRefusal } from './ledger-loss.ts';
import type { AuditReport, LedgerReader } from '@sealgate/ledger-port';

/** An audit that continues after the request that started it. */
interface AuditRun {
  readonly auditId: string;
  readonly channel: string;
  /** Records of the channel when the audit started. */
  readonly size: number;
  readonly startedAtMs: number;
  /** Records checked so far. */
  walked: number;
  endedAtMs: number | undefined;
  /** Undefined while it runs, and if it failed. */
  report: AuditReport | undefined;
  /** Why it failed, for people. */
  failure: string | undefined;
}

const MAX_RUNNING = 2;
/** Finished runs that stay readable; the oldest is dropped first. */
const MAX_FINISHED = 100;

/** The background audits of this process, in memory only: a restart loses them and costs a new run. */
export class AuditRuns {
  readonly #ledger: Pick<LedgerReader, 'audit'>;
  readonly #now: () => number;
  readonly #newId: (prefix: string) => string;
  readonly #runs = new Map<string, AuditRun>();

  constructor(ledger: Pick<LedgerReader, 'audit'>, now: () => number, newId: (prefix: string) => string) {
    this.#ledger = ledger;
    this.#now = now;
    this.#newId = newId;
  }

  find(channel: string, auditId: string): AuditRun | undefined {
    const run = this.#runs.get(auditId);
    return run?.channel === channel ? run : undefined;
  }

  /** Starts an audit, or returns the running one of the channel. @throws AppError OVERLOADED */
  begin(channel: string, size: number): AuditRun {
    const running = [...this.#runs.values()].filter(({ endedAtMs }) => endedAtMs === undefined);
    const same = running.find((run) => run.channel === channel);
    if (same !== undefined) return same;
    if (running.length >= MAX_RUNNING) {
      const detail = `${MAX_RUNNING} audits are already running in this process.`;
      throw new AppError('OVERLOADED', detail, { retryAfterSeconds: 60 });
    }
    const run: AuditRun = {
      auditId: this.#newId('aud_'),
      channel,
      size,
      startedAtMs: this.#now(),
      walked: 0,
      endedAtMs: undefined,
      report: undefined,
      failure: undefined,
    };
    this.#keep(run);
    void this.#follow(run);
    return run;
  }

  /** The run ends as failed, without a report but with a reason, if the ledger is unavailable or refuses. */
  async #follow(run: AuditRun): Promise<void> {
    const onWalked = (records: number) => {
      run.walked = records;
    };
    try {
      run.report = await this.#ledger.audit(run.channel, undefined, onWalked);
    } catch (error) {
      run.failure = ledgerRefusal(error)?.message ?? 'The audit failed; see the log of the service.';
    }
    run.endedAtMs = this.#now();
  }

  #keep(run: AuditRun): void {
    this.#runs.set(run.auditId, run);
    const ended = [...this.#runs.values()].filter(({ endedAtMs }) => endedAtMs !== undefined);
    for (const { auditId } of ended.slice(0, Math.max(0, ended.length - MAX_FINISHED))) this.#runs.delete(auditId);
  }
}

/** The run in the form of AuditRunRow. */
export function auditRunRow({ startedAtMs, endedAtMs, report, failure, ...run }: AuditRun) {
  const ended = report === undefined ? ('failed' as const) : ('done' as const);
  return {
    ...run,
    status: endedAtMs === undefined ? ('running' as const) : ended,
    startedAt: timeText(startedAtMs),
    endedAt: endedAtMs === undefined ? null : timeText(endedAtMs),
    report: report ?? null,
    failure: failure ?? null,
  };
}

const timeText = (atMs: number): string => new Date(atMs).toISOString();
