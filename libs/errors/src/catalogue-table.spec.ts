import { describe, expect, it } from '@jest/globals';
import { catalogueTable } from './catalogue-table.ts';
import { CATALOGUE } from './catalogue.ts';

describe('catalogueTable', () => {
  const lines = catalogueTable().split('\n');

  it('is a Markdown table with one row per code, item codes last', () => {
    expect(lines[0]).toBe('| Status | Code | Title | Meaning |');
    expect(lines[1]).toBe('|---|---|---|---|');
    expect(lines.slice(2, -2).map((line) => line.split('`')[1])).toEqual(Object.keys(CATALOGUE));
    expect(lines.at(-2)).toMatch(/^\| item of a 200 \| `NOT_ATTEMPTED` \|/);
    expect(lines.at(-1)).toBe('');
  });

  it('has four cells in every row', () => {
    for (const line of lines.slice(0, -1)) expect(line.split(/(?<!\\)\|/)).toHaveLength(6);
  });
});
