import { buildSurface } from '../surfaces/bundled.ts';
import { messageOf } from '../start/user-error.ts';
import { runJest } from './run-jest.ts';

const SECONDS = /^[1-9]\d{0,5}$/;
const DEFAULT_SECONDS = '600';
const USAGE = `Usage: npm run soak:gate -- [seconds]

  Two processes of the case gate for so long (600 seconds; at most 999999) under load, while processes are killed,
  connections cut, PostgreSQL and Redis frozen, one after the other. It ends with how much was asked, and fails for one
  allow that should not have been, one answer that was late or unclear, one seal that is missing or there twice.
`;
/** Setting up, and judging what was done. */
const BESIDES_MS = 600_000;

/** `npm run soak:gate -- [seconds]`: the case gate under load while one thing after the other breaks. Gives the exit code. */
export async function runSoak([seconds = DEFAULT_SECONDS, ...rest]: readonly string[]): Promise<number> {
  if (seconds === '--help') {
    process.stdout.write(USAGE);
    return 0;
  }
  if (!SECONDS.test(seconds) || rest.length > 0) {
    process.stderr.write(USAGE);
    return 1;
  }
  try {
    await buildSurface('case-gate');
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
  const timeoutMs = Number(seconds) * 1000 + BESIDES_MS;
  const env = { SEALGATE_SOAK_SECONDS: seconds };
  const { passed, failed } = await runJest({ project: 'e2e', paths: ['gate-soak'], workers: 1, timeoutMs, env });
  return failed === 0 && passed > 0 ? 0 : 1;
}
