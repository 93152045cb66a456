import { expect, it } from '@jest/globals';
import { projectFiles, readProjectFile } from './project-files.ts';

/** Programs that read the times of callers: `new Date` takes texts that are no RFC 3339, and no leap second. */
const READERS =
  /^(?:apps\/(?!e2e|console\/web)[^/]+\/src\/(?:.*\/)?routes|libs\/http\/src|tools\/(?:admin|verify)\/src)\/.*(?<!\.spec)\.ts$/;

/** A text of a query, a body or an option, by the names that they have. */
const BY_DATE =
  /\b(?:new Date|Date\.parse)\((?:[\w.]+\.)?(?:from|to|text|since|until|before|after|validUntil|valid_until|expiresAt|updatedSince)\b(?![[(.])/;

/** Times that a service wrote, not a caller. */
const WRITTEN_BY_US = ['tools/verify/src/decision-files.ts', 'tools/verify/src/heads-in-log.ts'];

const readsByDate = (text: string) => text.split('\n').filter((line) => BY_DATE.test(line));

it('times of callers are read by parseInstant or instantOf, everywhere alike', () => {
  const readers = projectFiles().filter((path) => READERS.test(path) && !WRITTEN_BY_US.includes(path));
  expect(readers.length).toBeGreaterThan(50);
  const lines = readers.flatMap((path) => readsByDate(readProjectFile(path)).map((line) => `${path}: ${line.trim()}`));
  expect(lines).toEqual([]);
});

it.each(['to: new Date(to)', 'Date.parse(body.expiresAt)', 'new Date(query.from)', 'new Date(text);'])(
  'that rule finds %s',
  (line) => {
    expect(readsByDate(line)).toEqual([line]);
  },
);

it.each(['new Date(from[0])', 'new Date(at)', 'new Date(ports.now())', 'instantOf(to)'])('and not %s', (line) => {
  expect(readsByDate(line)).toEqual([]);
});
