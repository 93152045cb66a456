import { checks } from './checks.ts';
import { closingLine, sum, type Tally } from './tally.ts';

/**
 * Runs the named checks, or all of them, and closes with one plain line that counts what passed and failed.
 * Gives the exit code: 1 where anything failed, or where a name is not one of a check.
 */
export async function runChecks(names: readonly string[]): Promise<number> {
  const known = checks.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`There is no check ${unknown.join(', ')}; there are ${known.join(', ')}.\n`);
    return 1;
  }
  const tallies: Tally[] = [];
  const bad: string[] = [];
  for (const check of checks) {
    if (names.length > 0 && !names.includes(check.name)) continue;
    process.stdout.write(`== ${check.name}\n`);
    const startedMs = performance.now();
    const tally = await check.run();
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    process.stdout.write(`== ${check.name}: ${tally.failed === 0 ? 'good' : 'FAILED'} (${seconds} s)\n`);
    tallies.push(tally);
    if (tally.failed > 0) bad.push(check.name);
  }
  const total = sum(tallies);
  if (bad.length > 0)
    process.stdout.write(`\nFailed: ${bad.join(', ')}. Run them alone with: npm test -- ${bad.join(' ')}\n`);
  process.stdout.write(`\n${closingLine(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}
