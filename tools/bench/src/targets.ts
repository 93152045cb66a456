import { decimals, wholeNumber } from './text-table.ts';

/** A promise of the product. `aim` is a goal beyond the promise. */
interface Target {
  readonly name: string;
  readonly limit: number;
  readonly aim: number | undefined;
  readonly better: 'higher' | 'lower';
  readonly show: (value: number) => string;
}

const of =
  (better: Target['better']) =>
  (limit: number, show: Target['show'], name: string, aim?: number): Target => ({ name, limit, aim, better, show });
const atLeast = of('higher');
const atMost = of('lower');

const ms = (value: number): string => `${decimals(value, 1)} ms`;
const us = (value: number): string => `${wholeNumber(value)} us`;
const mebibytes = (value: number): string => `${wholeNumber(value)} MiB`;
const recordsPerSecond = (value: number): string => `${wholeNumber(value)} records/s`;
const ratio = (value: number): string => decimals(value, 2);

const targets = {
  singlesOfExpress: atLeast(0.33, ratio, 'single records with Redis, requests/s against bare Express', 0.4),
  singlesOfExpressWithoutRedis: atLeast(
    0.36,
    ratio,
    'single records without Redis, requests/s against bare Express',
    0.4,
  ),
  singlesOfPackages: atLeast(0.65, ratio, 'single records, requests/s against Express with five packages', 0.75),
  singleCpu: atMost(165, us, 'CPU of all servers for a single record', 140),
  batchRecords: atLeast(60_000, wholeNumber, 'durable records/s in batches of 100', 75_000),
  memory: atMost(300, mebibytes, 'most memory of the gateway under that load'),
  reopen: atMost(2_000, ms, 'reopening the ledger'),
  proof: atMost(5, ms, 'proof of any record, p99'),
  audit: atLeast(250_000, recordsPerSecond, 'full audit'),
  peerAssets: atLeast(30_000, wholeNumber, 'assets/s of the ledger peer on the embedded ledger, batches of 100'),
  peerTransactions: atLeast(0.95, ratio, 'transactions/s of the ledger peer against the direct client'),
  gateOfExpress: atLeast(0.42, ratio, 'gate checks, requests/s against bare Express', 0.5),
  gateColdOfExpress: atLeast(0.25, ratio, 'gate checks of cold subjects only, requests/s against bare Express'),
  gateLatency: atMost(5, ms, 'gate checks at a fixed rate, p99'),
  gateWorstAnswer: atMost(300, ms, 'worst answer of the gate in an outage'),
  gateWrongAllows: atMost(0, wholeNumber, 'allows of the gate in an outage'),
  gateNotReady: atMost(1_000, ms, 'readiness of the gate says 503 after'),
  gateReturn: atMost(100, ms, 'first allow of the gate after an outage'),
  readsOfExpress: atLeast(0.25, ratio, 'pages of 100 assets, requests/s against bare Express', 0.3),
  readsByMcp: atLeast(0.6, ratio, 'the same pages by MCP, requests/s against REST'),
  readsLatency: atMost(25, ms, 'pages of 100 assets at a fixed rate, p99'),
  readsFarPage: atMost(1.1, ratio, 'p50 of a far page against that of page 1'),
  deliveryCpu: atMost(1.15, ratio, 'CPU of all servers for a signed delivery, against a single record with a key'),
  deliveriesTwice: atLeast(0.9, ratio, 'deliveries that come twice, requests/s against single records'),
  forgedOfExpress: atLeast(0.5, ratio, 'forged deliveries refused, requests/s against bare Express'),
  openers: atMost(100, ms, 'half a million openers refused'),
  sizeRatio: atMost(1.3, ratio, "worst cost at size, against that of the demo's size"),
  sizeAnswer: atMost(100, ms, 'slowest answer to one who looks at size'),
  sizeStart: atMost(2_000, ms, 'start to ready at size'),
  sizeMemory: atMost(300, mebibytes, 'most memory of a process at size'),
  stall: atMost(50, ms, 'longest stall that a body causes'),
} satisfies Record<string, Target>;

/** A number to compare with a target; undefined where it was not measured, or is withheld. */
export interface Finding {
  readonly target: keyof typeof targets;
  readonly value: number | undefined;
  /** What the number is of, where the name of the target does not say it. */
  readonly of?: string;
}

export function verdictOn({ target, value }: Finding): 'met' | 'met, below the aim' | 'MISSED' | 'withheld' {
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
