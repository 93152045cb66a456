import { buildSurface } from '../surfaces/bundled.ts';
import { messageOf } from '../start/user-error.ts';
import { runJest } from './run-jest.ts';

const COUNT = /^[1-9]\d{0,7}$/;
const DEFAULT_CHECKS = '1000000';
const USAGE = `Usage: npm run soak:gate -- [checks]

  So many checks (a million; at most 99999999) at the doors of two processes of the case gate, while processes are killed,
  connections cut, PostgreSQL and Redis frozen, one after the other. It ends with how much was asked, and fails for one
  allow that should not have been, one answer that was late or unclear, one seal that is missing or there twice. A million
  take about half an hour.
`;
const LONGEST_MS = 6 * 3_600_000;
const DEFAULT_PROMOTIONS = '20';
const FAILOVER_USAGE = `Usage: npm run soak:failover -- [promotions]

  So many promotions (20; at most 9999) of a synchronous standby, its primary killed or frozen, under two processes of the
  ingest gateway that are written to all the time. It ends with what each of them took, as JSON, and fails for one write that
  was acknowledged and is not there, one that is there twice or at the server of before, and five seconds without a write.
`;

/** `npm run soak:gate -- [checks]`: the case gate under load while one thing after the other breaks. Gives the exit code. */
export async function runSoak([checks = DEFAULT_CHECKS, ...rest]: readonly string[]): Promise<number> {
  if (checks === '--help') {
    process.stdout.write(USAGE);
    return 0;
  }
  if (!COUNT.test(checks) || rest.length > 0) {
    process.stderr.write(USAGE);
    return 1;
  }
  try {
    await buildSurface('case-gate');
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
  return story('gate-soak', { SEALGATE_SOAK_CHECKS: checks });
}

/** `npm run soak:failover -- [promotions]`: the ingest gateway while PostgreSQL fails over. Gives the exit code. */
export async function runFailovers([promotions = DEFAULT_PROMOTIONS, ...rest]: readonly string[]): Promise<number> {
  if (promotions === '--help' || !/^[1-9]\d{0,3}$/.test(promotions) || rest.length > 0) {
    process[promotions === '--help' ? 'stdout' : 'stderr'].write(FAILOVER_USAGE);
    return promotions === '--help' ? 0 : 1;
  }
  try {
    await buildSurface('ingest-gateway');
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
  return story('failover', { SEALGATE_PROMOTIONS: promotions });
}

async function story(path: string, env: Readonly<Record<string, string>>): Promise<number> {
  const { passed, failed } = await runJest({ project: 'e2e', paths: [path], workers: 1, timeoutMs: LONGEST_MS, env });
  return failed === 0 && passed > 0 ? 0 : 1;
}
