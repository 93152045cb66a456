import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ours = globSync('*.ts', { cwd: import.meta.dirname }).filter((file) => !file.endsWith('.spec.ts'));

/** Imports as they are written, with `type` before those that leave nothing at run time. */
const importsOf = (file: string): string[] =>
  [
    ...readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(/^(?:import|export) (type )?.*from '(.+)';$/gm),
  ].map(([, type = '', from = '']) => `${type}${from}`);

describe('the judge', () => {
  it.each(ours)('has nothing of our own code in %s, so that no mistake of the services hides one of theirs', (file) => {
    const foreign = importsOf(file).filter(
      (from) => !/^(type )?(node:[a-z/]+|pg|\.\/[a-z-]+\.ts)$|^type \.\.\/history\.ts$/.test(from),
    );
    expect(foreign).toEqual([]);
  });

  it('is looked at whole', () => {
    expect(ours).toContain('judge.ts');
    expect(importsOf('judge.ts')).toContain('type ../history.ts');
    expect(ours.filter((file) => readFileSync(join(import.meta.dirname, file), 'utf8').includes('import('))).toEqual(
      [],
    );
  });
});
