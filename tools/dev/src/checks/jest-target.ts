/**
 * The program of the Nx targets `test` and `browser`: `jest-target.ts <jest project> <project> <path pattern>`. It
 * writes the tally as an output of the task, so that cached tests are counted, too.
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
