import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { readProjectFile } from './project-files.ts';

const PAGE = 'SECURITY.md';

it('names existing tests in the threat model', () => {
  const quoted = [...readProjectFile(PAGE).matchAll(/\["([^"]+)"\]\(([^)]+)\)/g)];
  expect(quoted.length).toBeGreaterThan(25);
  const missing = quoted.filter(([, title = '', path = '']) => {
    // A title in source is quoted, and may continue.
    const source = readProjectFile(join(dirname(PAGE), path)).replaceAll("\\'", "'");
    return !source.includes(title);
  });
  expect(missing.map(([, title]) => title)).toEqual([]);
});
