import { describe, expect, it } from '@jest/globals';
import { catalogueTable } from './catalogue-table.ts';
import { CATALOGUE } from './catalogue.ts';

describe('catalogueTable', () => {
  const lines = catalogueTable((code) => (code === 'NOT_FOUND' ? ['one', 'two'] : [])).split('\n');

  it('is a Markdown table with one row per code, item codes last', () => {
    expect(lines[0]).toBe('| Status | Code | Title | Meaning | Answered by |');
    expect(lines[1]).toBe('|---|---|---|---|---|');
    expect(lines.slice(2, -1).map((line) => line.split('`')[1])).toEqual(Object.keys(CATALOGUE));
    expect(lines.at(-1)).toMatch(/^\| item of a 200 \| `NOT_ATTEMPTED` \|/);
  });

  it('has five cells in every row, the last with who answers the code', () => {
    for (const line of lines) expect(line.split(/(?<!\\)\|/)).toHaveLength(7);
    expect(lines.filter((line) => line.endsWith('| one, two |'))).toEqual([expect.stringContaining('`NOT_FOUND`')]);
  });
});
