import { buildSurface } from '../surfaces/bundled.ts';
import { messageOf } from '../start/user-error.ts';
import { runJest } from './run-jest.ts';

const LONGEST_MS = 6 * 3_600_000;

interface Soak {
  /** What is run, below apps/e2e, and on which bundle. */
  readonly story: string;
  readonly surface: string;
  /** The variable that says how often, and how often where nothing is said. */
  readonly variable: string;
  readonly usual: string;
  readonly count: RegExp;
  readonly usage: string;
}

const GATE: Soak = {
  ...{ story: 'gate-soak', surface: 'case-gate', variable: 'SEALGATE_SOAK_CHECKS', usual: '1000000' },
  count: /^[1-9]\d{0,7}$/,
  usage: `Usage: npm run soak:gate -- [checks]

  So many checks (a million; at most 99999999) at the doors of two processes of the case gate, while processes are killed,
  connections cut, PostgreSQL and Redis frozen, one after the other. It ends with how much was asked, and fails for one
  allow that should not have been, one answer that was late or unclear, one seal that is missing or there twice. A million
  take about half an hour.
`,
};
const FAILOVER: Soak = {
  ...{ story: 'failover', surface: 'ingest-gateway', variable: 'SEALGATE_PROMOTIONS', usual: '20' },
  count: /^[1-9]\d{0,3}$/,
  usage: `Usage: npm run soak:failover -- [promotions]

  So many promotions (20; at most 9999) of a synchronous standby, its primary killed or frozen, under two processes of the
  ingest gateway that are written to all the time. It ends with what each of them took, as JSON, and fails for one write that
  was acknowledged and is not there, one that is there twice or at the server of before, and five seconds without a write.
`,
};
const RESTORE: Soak = {
  ...{ story: 'restores', surface: 'ingest-gateway', variable: 'SEALGATE_RESTORES', usual: '5' },
  count: /^[1-9]\d{0,2}$/,
  usage: `Usage: npm run soak:restore -- [restores]

  So many restores (5; at most 999), in turn of a moment (PITR) and of a dump, taken at random under two processes of the
  ingest gateway that are written to all the time; then the newer database comes back. It needs an installed PostgreSQL with
  pg_dump. It ends with what each of them took, as JSON, and fails for one write of before the backup that is not there, one
  record that is missing and not named, one retry that is answered otherwise than the first time, and one record too many.
`,
};

/** `npm run soak:gate -- [checks]`: the case gate under load while one thing after the other breaks. Gives the exit code. */
export const runSoak = (parameters: readonly string[]): Promise<number> => run(GATE, parameters);

/** `npm run soak:failover -- [promotions]`: the ingest gateway while PostgreSQL fails over. Gives the exit code. */
export const runFailovers = (parameters: readonly string[]): Promise<number> => run(FAILOVER, parameters);

/** `npm run soak:restore -- [restores]`: the ingest gateway while older backups are restored. Gives the exit code. */
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
    project: 'e2e',
    paths: [story],
    workers: 1,
    timeoutMs: LONGEST_MS,
    env: { [variable]: times },
  } as const;
  const { passed, failed } = await runJest(order);
  return failed === 0 && passed > 0 ? 0 : 1;
}
