import { median } from '../median.ts';
import type { ReportTable } from '../report.ts';
import type { Finding } from '../targets.ts';
import { type Column, decimals, right, wholeNumber } from '../text-table.ts';
import type { PeerRound, PeerRow } from './peer-rows.ts';

/** One line: the medians of its rounds. */
export interface PeerSummary extends Pick<PeerRow, 'name' | 'client' | 'assets' | 'inFlight' | 'type'> {
  readonly transactionsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU of the client process for each transaction. */
  readonly cpuUs: number;
  /** Assets of all acknowledged transactions, and their number in the ledger. */
  readonly acknowledged: number;
  readonly inLedger: number;
  readonly refused: number;
  readonly firstProblem: string | null;
}

export function summarisePeer(row: PeerRow, inLedger: number): PeerSummary {
  const { name, client, assets, inFlight, type, all, rounds } = row;
  const of = (value: (round: PeerRound) => number): number => median(rounds.map(value));
  const sum = (value: (round: PeerRound) => number): number => all.reduce((total, round) => total + value(round), 0);
  return {
    ...{ name, client, assets, inFlight, type, inLedger },
    transactionsPerSecond: of(({ measured, measuredMs }) => (measured * 1_000) / measuredMs),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    cpuUs: of(({ cpuMs, measured }) => (cpuMs * 1_000) / measured),
    acknowledged: sum(({ succeeded }) => succeeded) * assets,
    refused: sum(({ refused }) => refused),
    firstProblem: all.find(({ firstProblem }) => firstProblem !== null)?.firstProblem ?? null,
  };
}

export function tableOf(where: string, summaries: readonly PeerSummary[]): ReportTable {
  const columns: Column[] = [
    { name: where },
    ...['assets', 'in flight', 'transactions/s', 'assets/s', 'p50 ms', 'p99 ms', 'CPU us', 'of direct'].map(right),
  ];
  const rows = summaries.map((summary) => {
    const { name, assets, inFlight, transactionsPerSecond, p50Ms, p99Ms, cpuUs } = summary;
    return [
      name,
      wholeNumber(assets),
      wholeNumber(inFlight),
      decimals(transactionsPerSecond, 1),
      wholeNumber(transactionsPerSecond * assets),
      decimals(p50Ms, 1),
      decimals(p99Ms, 1),
      wholeNumber(cpuUs),
      decimals(ofDirect(summary, summaries), 2),
    ];
  });
  return { columns, rows };
}

/** Against Fabric's own client with the native signer, with the same number of assets and transactions in flight. */
function ofDirect(summary: PeerSummary, summaries: readonly PeerSummary[]): number | undefined {
  const yardstick = summaries.find(
    ({ client, assets, inFlight }) => client === 'native' && assets === summary.assets && inFlight === summary.inFlight,
  );
  if (yardstick === undefined || summary.client === 'sdk' || summary.client === 'native') return undefined;
  return summary.transactionsPerSecond / yardstick.transactionsPerSecond;
}

const HIGHEST_IN_FLIGHT = 200;

export function findingsOf(embedded: readonly PeerSummary[], fabric: readonly PeerSummary[]): Finding[] {
  const findings: Finding[] = [];
  for (const { assets, transactionsPerSecond } of embedded) {
    if (assets > 1) findings.push({ target: 'peerAssets', value: transactionsPerSecond * assets });
  }
  for (const summary of fabric) {
    const { client, assets, inFlight } = summary;
    if (inFlight !== HIGHEST_IN_FLIGHT) continue;
    const of = `${assets} assets, ${inFlight} in flight`;
    if (client === 'peer') findings.push({ target: 'peerTransactions', value: ofDirect(summary, fabric), of });
  }
  return findings;
}
