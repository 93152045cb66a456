import { formatNumber } from '../../shell/formats.ts';
import * as texts from './texts.ts';

/** Metrics that the overview shows while they are not 0. */
const GAUGE_WORDS: Readonly<Record<string, (count: string) => string>> = {
  gate_waiting_decisions: texts.waitingDecisions,
  ingest_waiting_bodies: texts.waitingBodies,
  ledger_halted_channels: texts.haltedChannels,
  ledger_queue_length: texts.waitingCalls,
  ledger_unsettled_transactions: texts.unsettledTransactions,
  ledger_waiting_units: texts.waitingWrites,
  peer_jobs_running: texts.runningJobs,
  risk_anchors_oldest_seconds: texts.oldestWaitingFingerprint,
  risk_anchors_waiting: texts.waitingFingerprints,
};

const LIMIT_WORDS: Readonly<Record<string, string>> = {
  shared: texts.limitsAreShared,
  local: texts.limitsAreLocal,
};

/** What a service says of its readiness and backlogs, a line each. */
export function stateInWords(
  checks: Readonly<Record<string, unknown>>,
  gauges: Readonly<Record<string, number>> = {},
): string[] {
  const said = Object.entries(checks)
    .filter(([name, value]) => name !== 'status' && ['string', 'number', 'boolean'].includes(typeof value))
    .map(([name, value]) => (name === 'limits' && LIMIT_WORDS[String(value)]) || `${name}: ${String(value)}`);
  const halted = Object.entries(gauges)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => GAUGE_WORDS[name]?.(formatNumber(count)) ?? `${name}: ${formatNumber(count)}`);
  return [...said, ...halted];
}
