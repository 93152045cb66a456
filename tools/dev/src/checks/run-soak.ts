import { buildSurface } from '../surfaces/bundled.ts';
import { messageOf } from '../start/user-error.ts';
import { runJest } from './run-jest.ts';

const LONGEST_MS = 6 * 3_600_000;

interface Soak {
  /** The spec in apps/e2e, and the bundle that it needs. */
  readonly story: string;
  readonly surface: string;
  /** The variable with the number of repetitions, and its default. */
  readonly variable: string;
  readonly usual: string;
  readonly count: RegExp;
  readonly usage: string;
}

const GATE: Soak = {
  story: 'gate-soak',
  surface: 'case-gate',
  variable: 'SEALGATE_SOAK_CHECKS',
  usual: '1000000',
  count: /^[1-9]\d{0,7}$/,
  usage: `Usage: npm run soak:gate -- [checks]

  Runs this many gate checks (default 1000000, at most 99999999) against two processes of the case gate, while processes are
  killed, connections cut, and PostgreSQL and Redis frozen, one after the other. Prints totals. Fails for any wrong allow,
  any late or ambiguous response, and any missing or duplicate seal. A million take about half an hour.
`,
};
const FAILOVER: Soak = {
  story: 'failover',
  surface: 'ingest-gateway',
  variable: 'SEALGATE_PROMOTIONS',
  usual: '20',
  count: /^[1-9]\d{0,3}$/,
  usage: `Usage: npm run soak:failover -- [promotions]

  Promotes a synchronous standby this many times (default 20, at most 9999), with its primary killed or frozen, during
  continuous writes to two processes of the ingest gateway. Prints the duration of each as JSON. Fails for any lost or
  duplicate acknowledged write, any write to the old primary, and five seconds without a write. Then as many promotions after
  each of which the process is killed, the old primary returns, and the process starts again, with Redis there, flushed or
  frozen; the rows of both servers are compared with every answer.
`,
};
const RESTORE: Soak = {
  story: 'restores',
  surface: 'ingest-gateway',
  variable: 'SEALGATE_RESTORES',
  usual: '5',
  count: /^[1-9]\d{0,2}$/,
  usage: `Usage: npm run soak:restore -- [restores]

  Restores this many backups (default 5, at most 999), alternately by PITR and from a dump, taken at random times during
  continuous writes to two processes of the ingest gateway; then the newer database returns. Needs an installed PostgreSQL
  with pg_dump. Prints the duration of each as JSON. Fails for any lost write from before the backup, any missing record that
  is not reported, any retry with another response than the first request, and any extra record.
`,
};

/** `npm run soak:gate -- [checks]`: the case gate under load during faults. Returns the exit code. */
export const runSoak = (parameters: readonly string[]): Promise<number> => run(GATE, parameters);

/** `npm run soak:failover -- [promotions]`: the ingest gateway during PostgreSQL failovers. Returns the exit code. */
export const runFailovers = (parameters: readonly string[]): Promise<number> => run(FAILOVER, parameters);

/** `npm run soak:restore -- [restores]`: the ingest gateway during restores of older backups. Returns the exit code. */
export const runRestores = (parameters: readonly string[]): Promise<number> => run(RESTORE, parameters);

async function run(
  { story, surface, variable, usual, count, usage }: Soak,
  parameters: readonly string[],
): Promise<number> {
  const [times = usual, ...rest] = parameters;
  if (times === '--help') {
    process.stdout.write(usage);
    return 0;
  }
  if (!count.test(times) || rest.length > 0) {
    process.stderr.write(usage);
    return 1;
  }
  try {
    await buildSurface(surface);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
  const order = {
    project: 'slow',
    paths: [`apps/e2e/src/${story}`],
    workers: 1,
    timeoutMs: LONGEST_MS,
    env: { [variable]: times },
  } as const;
  const { tally } = await runJest(order);
  return tally.failed === 0 && tally.passed > 0 ? 0 : 1;
}
