import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EXPECTATIONS, type Expectation } from './expectations.ts';
import { judgeChecks } from './judge-checks.ts';
import { checksIn } from './try-conformance.ts';

const table: readonly Expectation[] = [
  { revision: '2025-11-25', scenario: 'ping' },
  { revision: '2025-11-25', scenario: 'image', says: ['There is no tool'], because: 'a fixture' },
];
const of = { revision: '2025-11-25', status: 'SUCCESS' };
const ping = { ...of, scenario: 'ping', id: 'ping' };
const image = {
  ...of,
  scenario: 'image',
  id: 'image',
  status: 'FAILURE',
  errorMessage: 'Failed: There is no tool "x".',
};
const differences = (checks: Parameters<typeof judgeChecks>[0]) =>
  judgeChecks(checks, table).flatMap(({ name, difference }) => (difference === undefined ? [] : [[name, difference]]));

describe('what the suite found', () => {
  it('is as expected where each check is, and what is only told is not judged', () => {
    const told = ['INFO', 'SKIPPED'].map((status) => ({ ...ping, id: 'incoming-response', status }));
    expect(differences([ping, image, ...told, { ...image, id: 'wire', status: 'SUCCESS' }])).toEqual([]);
  });

  it.each([
    [
      'one that fails',
      [{ ...ping, status: 'FAILURE', errorMessage: 'boom' }, image],
      '2025-11-25 ping',
      'FAILURE: boom',
    ],
    [
      'one that passes where it is said not to apply',
      [ping, { ...image, status: 'SUCCESS' }],
      '2025-11-25 image',
      'passes',
    ],
    ['one that fails for another reason', [ping, { ...image, errorMessage: '500' }], '2025-11-25 image', '500'],
    ['one that did not run', [ping], '2025-11-25 image', 'did not run'],
    ['one that fails the second time', [ping, image, { ...ping, status: 'FAILURE' }], '2025-11-25 ping', 'FAILURE'],
    ['one that nobody knows', [ping, image, { ...ping, scenario: 'new' }], '2025-11-25 new', 'SUCCESS'],
    ['one of another revision', [ping, image, { ...ping, revision: '2026-07-28' }], '2026-07-28 ping', 'SUCCESS'],
  ])('differs by %s', (_, checks, name, words) => {
    expect(differences(checks)).toEqual([[name, expect.stringContaining(words)]]);
  });

  it('is read from a folder for each scenario', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-results-'));
    const results = join(folder, 'server-tools-call-image-2026-01-02T03-04-05-678Z');
    mkdirSync(results);
    mkdirSync(join(folder, 'something-else'));
    // A scenario that broke off.
    mkdirSync(join(folder, 'server-ping-2026-01-02T03-04-05-678Z'));
    writeFileSync(join(results, 'checks.json'), JSON.stringify([{ id: 'x', status: 'SUCCESS' }]));
    expect(checksIn(folder, '2025-11-25')).toEqual([{ ...of, scenario: 'tools-call-image', id: 'x' }]);
    rmSync(folder, { recursive: true });
  });
});

describe('the table', () => {
  it('names each scenario once for a revision, and argues for each that does not pass', () => {
    const names = EXPECTATIONS.map(({ revision, scenario }) => `${revision} ${scenario}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { says, because } of EXPECTATIONS) if (says !== undefined) expect(because).toMatch(/\S/);
  });
});
