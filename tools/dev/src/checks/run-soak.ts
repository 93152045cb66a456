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
  const env = { SEALGATE_SOAK_CHECKS: checks };
  const run = { project: 'e2e', paths: ['gate-soak'], workers: 1, timeoutMs: LONGEST_MS, env } as const;
  const { passed, failed } = await runJest(run);
  return failed === 0 && passed > 0 ? 0 : 1;
}
