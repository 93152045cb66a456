import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EXIT_CODE_MEANINGS } from './errors.ts';
import { GROUPS } from './groups.ts';
import { runLine, wordsOf } from './testing/run-line.ts';
import { standInApi, type StandInApi } from './testing/stand-in-api.ts';

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [titles, titles.map(() => '---'), ...rows];
  return lines.map((cells) => (cells[0] === '---' ? `|${cells.join('|')}|\n` : `| ${cells.join(' | ')} |\n`)).join('');
}

let api: StandInApi;
beforeAll(async () => {
  api = await standInApi();
});
afterAll(() => api.close());

describe('the README', () => {
  it('lists exactly the existing commands', () => {
    const rows = GROUPS.map(({ name, summary, commands }) => [
      `\`${name}\``,
      commands.map(({ usage }) => `\`${usage}\``).join(', '),
      summary.replace(/<\S+>/, '`$&`'),
    ]);
    expect(readme).toContain(`\n\n${table(['group', 'commands', 'what it is about'], rows)}\n`);
  });

  it('lists exactly the existing exit codes', () => {
    expect(readme).toContain(`\n\n${table(['exit code', 'meaning'], Object.entries(EXIT_CODE_MEANINGS))}\n`);
  });

  it('has working examples', async () => {
    const examples = [...readme.matchAll(/^npx sealgate (.+)$/gm)].map(([, line = '']) => line);
    expect(examples.length).toBeGreaterThan(3);
    const env = { SEALGATE_ADMIN_URL: api.url, SEALGATE_ADMIN_TOKEN: 't' };
    for (const example of examples) {
      api.answer(() => ({ body: { items: [], nextCursor: null, status: 'done', report: { ok: true } } }));
      const { code, err } = await runLine(wordsOf(example), { env });
      expect({ example, code, err }).toEqual({ example, code: 0, err: '' });
    }
  });
});
