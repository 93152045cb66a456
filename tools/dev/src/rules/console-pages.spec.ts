import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';

const web = join(workspaceRoot, 'apps/console/web');
const sources = readdirSync(web, { recursive: true, encoding: 'utf8' })
  .filter((file) => /(?<!\.spec)\.tsx?$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(web, file), 'utf8') }));

describe('the pages of the console', () => {
  it('format times and numbers, and order texts, in one place, in the language of the page', () => {
    const others = sources.filter(
      ({ file, text }) => file !== join('shell', 'formats.ts') && /\.toLocale|\bIntl\.|localeCompare/.test(text),
    );
    expect(others.map(({ file }) => file)).toEqual([]);
    expect(readFileSync(join(web, 'index.html'), 'utf8')).toContain('<html lang="en">');
  });
});
