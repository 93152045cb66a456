import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { EXPECTATIONS, type Expectation } from './expectations.ts';
import { judgeChecks } from './judge-checks.ts';
import { checksIn } from './try-conformance.ts';

const table: readonly Expectation[] = [
  { scenario: 'ping', check: 'ping', status: 'SUCCESS' },
  { scenario: 'image', check: 'image', status: 'FAILURE', says: 'There is no tool', because: 'a fixture' },
];
const ping = { scenario: 'ping', id: 'ping', status: 'SUCCESS' };
const image = { scenario: 'image', id: 'image', status: 'FAILURE', errorMessage: 'Failed: There is no tool "x".' };
const differences = (checks: Parameters<typeof judgeChecks>[0]) =>
  judgeChecks(checks, table).flatMap(({ name, difference }) => (difference === undefined ? [] : [[name, difference]]));

describe('what the suite found', () => {
  it('is as expected where each check is, and what is only told is not judged', () => {
    expect(differences([ping, image, { scenario: 'ping', id: 'incoming-response', status: 'INFO' }])).toEqual([]);
  });

  it.each([
    ['one that fails', [{ ...ping, status: 'FAILURE', errorMessage: 'boom' }, image], 'ping', 'FAILURE: boom'],
    ['one that passes where it is said not to apply', [ping, { ...image, status: 'SUCCESS' }], 'image', 'SUCCESS'],
    ['one that fails for another reason', [ping, { ...image, errorMessage: '500' }], 'image', '500'],
    ['one that did not run', [ping], 'image', 'did not run'],
    ['one that fails the second time', [ping, image, { ...ping, status: 'FAILURE' }], 'ping', 'FAILURE'],
    ['one that nobody knows', [ping, image, { ...ping, id: 'new' }], 'ping/new', 'SUCCESS'],
  ])('differs by %s', (_, checks, name, words) => {
    expect(differences(checks)).toEqual([[name, expect.stringContaining(words)]]);
  });

  it('is read from a folder for each scenario', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealgate-results-'));
    const of = join(folder, 'server-tools-call-image-2026-01-02T03-04-05-678Z');
    mkdirSync(of);
    mkdirSync(join(folder, 'something-else'));
    writeFileSync(join(of, 'checks.json'), JSON.stringify([{ id: 'x', status: 'SUCCESS' }]));
    expect(checksIn(folder)).toEqual([{ scenario: 'tools-call-image', id: 'x', status: 'SUCCESS' }]);
    rmSync(folder, { recursive: true });
  });
});

describe('the table', () => {
  it('names each check once, and argues for each that does not pass', () => {
    const names = EXPECTATIONS.map(({ scenario, check }) => `${scenario}/${check}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { status, says, because } of EXPECTATIONS) {
      expect(because === undefined).toBe(status === 'SUCCESS');
      if (status === 'FAILURE') expect(says).toMatch(/\S/);
    }
  });
});
