import { readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { judge } from '../judge/index.ts';
import { MUTANTS } from './mutants.ts';

const root = resolve(import.meta.dirname, '../../../../..');

describe('mutants', () => {
  let promises: readonly string[] = [];
  beforeAll(async () => {
    const verdicts = await judge({ historyFile: devNull, databases: {} });
    promises = verdicts.map(({ promise }) => promise);
  });

  it('are at least ten, of every surface, each with a name of its own', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(10);
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(new Set(MUTANTS.map(({ surface }) => surface)).size).toBe(5);
  });

  it.each(MUTANTS)('$name changes one place of its file, and breaks one promise of the judge', (mutant) => {
    const { file, find, replace, breaks } = mutant;
    expect(readFileSync(resolve(root, file), 'utf8').split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
    expect(promises.filter((promise) => promise.startsWith(breaks))).toHaveLength(1);
  });
});
