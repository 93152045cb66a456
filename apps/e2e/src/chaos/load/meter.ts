import { until } from '@sealgate/testing';
import type { Asked } from '../history.ts';
import { nowMs } from '../now.ts';

/** What requests that were open during a fault met. */
export interface Met {
  requests: number;
  /** Answered with OUTCOME_UNKNOWN, or not at all. */
  unknown: number;
  /** The longest time to an answer of a write, a delivery or a check. */
  slowestMs: number;
}

/** Counts what clients are told, for the table. It judges nothing. */
export class Meter {
  readonly totals = { keyedWrites: 0, deliveries: 0, checks: 0, allows: 0, revocations: 0, seals: 0, unanswered: 0 };
  readonly #open = new Set<Met & { readonly fromMs: number }>();
  /** When the newest request that was answered 2xx began, by replica. */
  readonly #decided = new Map<string, number>();

  record({ surface, replica, act, key, startedMs, endedMs, status, text = '' }: Asked): void {
    const isDone = status !== undefined && status < 300;
    this.#count({ act, key, isDone, isAllow: text.includes('"allow":true') });
    if (status === undefined) this.totals.unanswered += 1;
    if (isDone) {
      const place = `${surface}/${replica}`;
      this.#decided.set(place, Math.max(startedMs, this.#decided.get(place) ?? 0));
    }
    const isUnknown = status === undefined || (status === 503 && text.includes('OUTCOME_UNKNOWN'));
    const isTimed = status !== undefined && TIMED.has(act);
    for (const met of this.#open) {
      if (endedMs < met.fromMs) continue;
      met.requests += 1;
      if (isUnknown) met.unknown += 1;
      if (isTimed) met.slowestMs = Math.max(met.slowestMs, endedMs - startedMs);
    }
  }

  #count(asked: { act: string; key: string | undefined; isDone: boolean; isAllow: boolean }): void {
    const { totals } = this;
    if (asked.act === 'check') totals.checks += 1;
    if (asked.act === 'check' && asked.isAllow) totals.allows += 1;
    if (!asked.isDone) return;
    if (asked.act === 'revoke') totals.revocations += 1;
    else if (asked.act === 'seal') totals.seals += 1;
    else if (asked.act === 'deliver') totals.deliveries += 1;
    else if (asked.key !== undefined) totals.keyedWrites += 1;
  }

  /** Counts requests that end from now on, until `close`. */
  watch(fromMs: number): { close(): Met } {
    const met = { requests: 0, unknown: 0, slowestMs: 0, fromMs };
    this.#open.add(met);
    return {
      close: () => {
        this.#open.delete(met);
        return met;
      },
    };
  }

  /** Resolves with the time once a request that began later was answered 2xx by that replica (`case-gate/0`). */
  async servedAfter(replica: string, sinceMs: number, timeoutMs: number): Promise<number> {
    const isServed = (): boolean => (this.#decided.get(replica) ?? 0) > sinceMs;
    await until(isServed, { timeoutMs, what: `an answer of ${replica}` });
    return nowMs();
  }
}

/** The acts whose time to an answer is bounded. */
const TIMED: ReadonlySet<string> = new Set(['write', 'deliver', 'check']);
