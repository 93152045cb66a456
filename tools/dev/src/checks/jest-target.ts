/**
 * What Nx runs as the targets `test` and `browser`: `jest-target.ts <jest project> <project> <pattern of paths>`. It leaves the
 * tally where Nx keeps it, so that tests which Nx need not run again are counted all the same.
 */
import { runJest } from './run-jest.ts';
import { writeTally } from './tally.ts';

const [kind = '', project = '', paths = ''] = process.argv.slice(2);
const tally = await runJest({
  project: kind,
  paths: [paths],
  workers: 1,
  timeoutMs: 600_000,
  retryFailed: true,
});
writeTally(kind, project, tally);
process.exitCode = tally.failed === 0 ? 0 : 1;
