import { formatNumber } from '../../shell/formats.ts';

/** Metrics that the overview shows while they are not 0. */
const GAUGE_WORDS: Readonly<Record<string, (count: string) => string>> = {
  gate_waiting_decisions: (count) => `Decisions of the gate that wait to be logged: ${count}`,
  ingest_waiting_bodies: (count) => `Large bodies that wait to be read: ${count}`,
  ledger_halted_channels: (count) => `Channels in which nothing is signed any more, because a check failed: ${count}`,
  ledger_queue_length: (count) => `Calls that wait for the ledger: ${count}`,
  ledger_unsettled_transactions: (count) => `Transactions sent whose outcome is not known yet: ${count}`,
  ledger_waiting_units: (count) => `Writes that wait for the ledger: ${count}`,
  peer_jobs_running: (count) => `Jobs that run: ${count}`,
  risk_anchors_oldest_seconds: (count) => `The oldest fingerprint that is not in the ledger waits for ${count} s`,
  risk_anchors_waiting: (count) => `Approved fingerprints that are not in the ledger yet: ${count}`,
};

const LIMIT_WORDS: Readonly<Record<string, string>> = {
  shared: 'Rate limits: all processes of the service count together (Redis answers).',
  local: 'Rate limits: each process counts alone, at its share of the rate (no Redis, or it does not answer).',
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
