import { decimals, wholeNumber } from './text-table.ts';

/** A promise of the product. `aim` is a goal beyond the promise. */
interface Target {
  readonly name: string;
  readonly limit: number;
  readonly aim?: number;
  readonly better: 'higher' | 'lower';
  readonly show: (value: number) => string;
}

const milliseconds = (value: number): string => `${decimals(value, 1)} ms`;
const ratio = (value: number): string => decimals(value, 2);

export const targets = {
  singlesOfExpress: {
    name: 'single records with Redis, requests/s against bare Express',
    limit: 0.33,
    aim: 0.4,
    better: 'higher',
    show: ratio,
  },
  singlesOfExpressWithoutRedis: {
    name: 'single records without Redis, requests/s against bare Express',
    limit: 0.36,
    aim: 0.4,
    better: 'higher',
    show: ratio,
  },
  singlesOfPackages: {
    name: 'single records, requests/s against Express with five packages',
    limit: 0.65,
    aim: 0.75,
    better: 'higher',
    show: ratio,
  },
  singleCpu: {
    name: 'CPU of all servers for a single record',
    limit: 165,
    aim: 140,
    better: 'lower',
    show: (microseconds) => `${wholeNumber(microseconds)} us`,
  },
  batchRecords: {
    name: 'durable records/s in batches of 100',
    limit: 60_000,
    aim: 75_000,
    better: 'higher',
    show: wholeNumber,
  },
  memory: {
    name: 'most memory of the gateway under that load',
    limit: 300,
    better: 'lower',
    show: (mebibytes) => `${wholeNumber(mebibytes)} MiB`,
  },
  reopen: { name: 'reopening the ledger', limit: 2_000, better: 'lower', show: milliseconds },
  proof: { name: 'proof of any record, p99', limit: 5, better: 'lower', show: milliseconds },
  audit: {
    name: 'full audit',
    limit: 250_000,
    better: 'higher',
    show: (records) => `${wholeNumber(records)} records/s`,
  },
  peerAssets: {
    name: 'assets/s of the ledger peer on the embedded ledger, batches of 100',
    limit: 30_000,
    better: 'higher',
    show: wholeNumber,
  },
  peerTransactions: {
    name: 'transactions/s of the ledger peer against the direct client',
    limit: 0.95,
    better: 'higher',
    show: ratio,
  },
  gateOfExpress: {
    name: 'gate checks, requests/s against bare Express',
    limit: 0.42,
    aim: 0.5,
    better: 'higher',
    show: ratio,
  },
  gateColdOfExpress: {
    name: 'gate checks of cold subjects only, requests/s against bare Express',
    limit: 0.25,
    better: 'higher',
    show: ratio,
  },
  gateLatency: { name: 'gate checks at a fixed rate, p99', limit: 5, better: 'lower', show: milliseconds },
  gateWorstAnswer: { name: 'worst answer of the gate in an outage', limit: 300, better: 'lower', show: milliseconds },
  gateWrongAllows: { name: 'allows of the gate in an outage', limit: 0, better: 'lower', show: wholeNumber },
  gateNotReady: { name: 'readiness of the gate says 503 after', limit: 1_000, better: 'lower', show: milliseconds },
  gateReturn: { name: 'first allow of the gate after an outage', limit: 100, better: 'lower', show: milliseconds },
  readsOfExpress: {
    name: 'pages of 100 assets, requests/s against bare Express',
    limit: 0.25,
    aim: 0.3,
    better: 'higher',
    show: ratio,
  },
  readsByMcp: {
    name: 'the same pages by MCP, requests/s against REST',
    limit: 0.6,
    better: 'higher',
    show: ratio,
  },
  readsLatency: { name: 'pages of 100 assets at a fixed rate, p99', limit: 25, better: 'lower', show: milliseconds },
  readsFarPage: { name: 'p50 of a far page against that of page 1', limit: 1.1, better: 'lower', show: ratio },
  deliveryCpu: {
    name: 'CPU of all servers for a signed delivery, against a single record with a key',
    limit: 1.15,
    better: 'lower',
    show: ratio,
  },
  deliveriesTwice: {
    name: 'deliveries that come twice, requests/s against single records',
    limit: 0.9,
    better: 'higher',
    show: ratio,
  },
  forgedOfExpress: {
    name: 'forged deliveries refused, requests/s against bare Express',
    limit: 0.5,
    better: 'higher',
    show: ratio,
  },
  monitorLeaves: {
    name: 'entries a second that the monitor reads and checks',
    limit: 50_000,
    better: 'higher',
    show: wholeNumber,
  },
  tilesServed: {
    name: 'tiles a second without 429, under the default bucket of one reader',
    limit: 1_000,
    better: 'higher',
    show: wholeNumber,
  },
  witnessedAppends: {
    name: 'appends/s with a witness against none',
    limit: 0.97,
    better: 'higher',
    show: ratio,
  },
  witnessedCpu: {
    name: 'CPU of all servers for an append with a witness against none',
    limit: 1.03,
    better: 'lower',
    show: ratio,
  },
  openers: { name: 'half a million openers refused', limit: 100, better: 'lower', show: milliseconds },
  stall: { name: 'longest stall that a body causes', limit: 50, better: 'lower', show: milliseconds },
} as const satisfies Record<string, Target>;

/** A number to compare with a target; undefined where it was not measured, or is withheld. */
export interface Finding {
  readonly target: keyof typeof targets;
  readonly value: number | undefined;
  /** What the number is of, where the name of the target does not say it. */
  readonly of?: string;
}

export type Verdict = 'met' | 'met, below the aim' | 'MISSED' | 'withheld';

export function verdictOn({ target, value }: Finding): Verdict {
  const { limit, better, aim }: Target = targets[target];
  if (value === undefined || Number.isNaN(value)) return 'withheld';
  const reaches = (line: number): boolean => (better === 'higher' ? value >= line : value <= line);
  if (!reaches(limit)) return 'MISSED';
  return aim === undefined || reaches(aim) ? 'met' : 'met, below the aim';
}

/** Cells: target, wanted, measured, verdict. */
export function findingRow(finding: Finding): string[] {
  const { name, limit, aim, better, show }: Target = targets[finding.target];
  const sign = better === 'higher' ? '>=' : '<=';
  const wanted = `${sign} ${show(limit)}${aim === undefined ? '' : ` (aim ${show(aim)})`}`;
  const measured = finding.value === undefined ? '-' : show(finding.value);
  return [finding.of === undefined ? name : `${name} (${finding.of})`, wanted, measured, verdictOn(finding)];
}
