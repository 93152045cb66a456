import { decimals, wholeNumber } from './text-table.ts';

/**
 * What a socket costs differs by two between machines, and what the services add by less: where it is cheap, bare Express
 * takes less than so much of a core for a request.
 */
const FAST_EXPRESS_US = 40;

/** A limit for machines where Express is cheap, and one for the others. */
interface ByKind {
  readonly fast: number;
  readonly slow: number;
}

/** A promise of the product. `aim` is a goal beyond the promise. */
interface Target {
  readonly name: string;
  readonly limit: number | ByKind;
  readonly aim: number | undefined;
  readonly better: 'higher' | 'lower';
  readonly show: (value: number) => string;
}

const of =
  (better: Target['better']) =>
  (limit: Target['limit'], show: Target['show'], name: string, aim?: number): Target => ({
    name,
    limit,
    aim,
    better,
    show,
  });
const atLeast = of('higher');
const atMost = of('lower');

const ms = (value: number): string => `${decimals(value, 1)} ms`;
const mebibytes = (value: number): string => `${wholeNumber(value)} MiB`;
const recordsPerSecond = (value: number): string => `${wholeNumber(value)} records/s`;
const ratio = (value: number): string => decimals(value, 2);

const targets = {
  singlesOfExpress: atLeast({ fast: 0.52, slow: 0.38 }, ratio, 'single records, requests/s against bare Express', 0.6),
  singlesOfPackages: atLeast(0.65, ratio, 'single records, requests/s against Express with five packages', 0.75),
  singleCpu: atMost({ fast: 3, slow: 3.6 }, ratio, "CPU of all servers for a single record, against Express's", 2.4),
  batchRecords: atLeast({ fast: 90_000, slow: 45_000 }, wholeNumber, 'durable records/s in batches of 100', 110_000),
  memory: atMost(300, mebibytes, 'most memory of the gateway under that load'),
  reopen: atMost(2_000, ms, 'reopening the ledger'),
  proof: atMost(3, ms, 'proof of any record, p99'),
  audit: atLeast(400_000, recordsPerSecond, 'full audit'),
  spreadOfSingle: atLeast(0.8, ratio, 'requests/s against one replica at as many connections'),
  restartFailures: atMost(0, wholeNumber, 'failed requests while replicas are restarted'),
  peerAssets: atLeast(75_000, wholeNumber, 'assets/s of the ledger peer on the embedded ledger, batches of 100'),
  peerTransactions: atLeast(1, ratio, 'transactions/s of the ledger peer against the direct client'),
  gateOfExpress: atLeast(0.48, ratio, 'gate checks, requests/s against bare Express', 0.6),
  gateColdOfExpress: atLeast(0.3, ratio, 'gate checks of cold subjects only, requests/s against bare Express', 0.4),
  gateLatency: atMost(4, ms, 'gate checks at a fixed rate, p99'),
  gateWorstAnswer: atMost(300, ms, 'worst answer of the gate in an outage'),
  gateWrongAllows: atMost(0, wholeNumber, 'allows of the gate in an outage'),
  gateNotReady: atMost(1_000, ms, 'readiness of the gate says 503 after'),
  gateReturn: atMost(100, ms, 'first allow of the gate after an outage'),
  readsOfExpress: atLeast(0.3, ratio, 'pages of 100 assets, requests/s against bare Express', 0.4),
  readsByMcp: atLeast(0.7, ratio, 'the same pages by MCP, requests/s against REST'),
  readsLatency: atMost(25, ms, 'pages of 100 assets at a fixed rate, p99'),
  readsFarPage: atMost(1.1, ratio, 'p50 of a far page against that of page 1'),
  deliveryCpu: atMost(1.1, ratio, 'CPU of all servers for a signed delivery, against a single record with a key'),
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
  /** What bare Express took of a core for a request in this run, in microseconds; undefined where it was not measured. */
  readonly expressUs?: number | undefined;
}

/** Without Express's cost, the limit of the slow kind. */
function limitOf({ target, expressUs = Infinity }: Finding): number {
  const { limit }: Target = targets[target];
  if (typeof limit === 'number') return limit;
  return expressUs < FAST_EXPRESS_US ? limit.fast : limit.slow;
}

export function verdictOn(finding: Finding): 'met' | 'met, below the aim' | 'MISSED' | 'withheld' {
  const { target, value } = finding;
  const { better, aim }: Target = targets[target];
  if (value === undefined || Number.isNaN(value)) return 'withheld';
  const reaches = (line: number): boolean => (better === 'higher' ? value >= line : value <= line);
  if (!reaches(limitOf(finding))) return 'MISSED';
  return aim === undefined || reaches(aim) ? 'met' : 'met, below the aim';
}

/** Which limits were applied, as a sentence; none where Express was not measured. */
export function kindOfMachine(findings: readonly Finding[]): string[] {
  const expressUs = findings.find((finding) => finding.expressUs !== undefined)?.expressUs;
  if (expressUs === undefined) return [];
  const kind = expressUs < FAST_EXPRESS_US ? 'fast' : 'slow';
  return [
    `Bare Express took ${decimals(expressUs, 1)} us of a core for a request. Below ${FAST_EXPRESS_US} us a machine counts as fast; limits that differ are those of the ${kind} kind.`,
  ];
}

/** Cells: target, wanted, measured, verdict. */
export function findingRow(finding: Finding): string[] {
  const { name, aim, better, show }: Target = targets[finding.target];
  const sign = better === 'higher' ? '>=' : '<=';
  const wanted = `${sign} ${show(limitOf(finding))}${aim === undefined ? '' : ` (aim ${show(aim)})`}`;
  const measured = finding.value === undefined ? '-' : show(finding.value);
  return [finding.of === undefined ? name : `${name} (${finding.of})`, wanted, measured, verdictOn(finding)];
}
