import { AppError } from '@sealgate/errors';
import type { AuditReport, LedgerReader } from '@sealgate/ledger-port';

/** An audit that goes on without the request that began it. */
export interface AuditRun {
  readonly auditId: string;
  readonly channel: string;
  /** How many records the channel had when it began. */
  readonly size: number;
  readonly startedAtMs: number;
  /** How many records were walked. */
  walked: number;
  endedAtMs: number | undefined;
  /** Undefined while it runs, and where it could not be brought to its end. */
  report: AuditReport | undefined;
}

export interface AuditRunsPorts {
  readonly ledger: Pick<LedgerReader, 'audit'>;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}

const MOST_RUNNING = 2;
/** Ended ones that can still be asked for; the oldest is forgotten first. */
const MOST_KEPT = 100;

/** The audits of this process: they are forgotten when it ends, and nothing is lost by that but time. */
export class AuditRuns {
  readonly #ports: AuditRunsPorts;
  readonly #runs = new Map<string, AuditRun>();

  constructor(ports: AuditRunsPorts) {
    this.#ports = ports;
  }

  find(channel: string, auditId: string): AuditRun | undefined {
    const run = this.#runs.get(auditId);
    return run?.channel === channel ? run : undefined;
  }

  /** Begins one, or gives the one that is under way for the channel. @throws AppError OVERLOADED */
  begin(channel: string, size: number): AuditRun {
    const running = [...this.#runs.values()].filter(({ endedAtMs }) => endedAtMs === undefined);
    const same = running.find((run) => run.channel === channel);
    if (same !== undefined) return same;
    if (running.length >= MOST_RUNNING) {
      const detail = `${MOST_RUNNING} audits are under way in this process already.`;
      throw new AppError('OVERLOADED', detail, { retryAfterSeconds: 60 });
    }
    const { now, newId } = this.#ports;
    const run: AuditRun = {
      auditId: newId('aud_'),
      channel,
      size,
      startedAtMs: now(),
      walked: 0,
      endedAtMs: undefined,
      report: undefined,
    };
    this.#keep(run);
    void this.#follow(run);
    return run;
  }

  /** Ends as failed, without a report, where the ledger cannot be asked. */
  async #follow(run: AuditRun): Promise<void> {
    const { ledger, now } = this.#ports;
    const onWalked = (records: number) => {
      run.walked = records;
    };
    run.report = await ledger.audit(run.channel, undefined, onWalked).catch(() => undefined);
    run.endedAtMs = now();
  }

  #keep(run: AuditRun): void {
    this.#runs.set(run.auditId, run);
    const ended = [...this.#runs.values()].filter(({ endedAtMs }) => endedAtMs !== undefined);
    for (const { auditId } of ended.slice(0, Math.max(0, ended.length - MOST_KEPT))) this.#runs.delete(auditId);
  }
}

/** As the admin listener shows it. */
export function auditRunRow({ startedAtMs, endedAtMs, report, ...run }: AuditRun) {
  const ended = report === undefined ? ('failed' as const) : ('done' as const);
  return {
    ...run,
    status: endedAtMs === undefined ? ('running' as const) : ended,
    startedAt: timeText(startedAtMs),
    endedAt: endedAtMs === undefined ? null : timeText(endedAtMs),
    report: report ?? null,
  };
}

const timeText = (atMs: number): string => new Date(atMs).toISOString();
