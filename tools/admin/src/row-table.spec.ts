import { describe, expect, it } from '@jest/globals';
import { RowTable } from './row-table.ts';

describe('RowTable', () => {
  const columns = [
    { title: 'ID', member: 'id' },
    { title: 'DEEP', member: 'a.b' },
  ];

  it('keeps the widths of the first page, and prints titles once', () => {
    const table = new RowTable(columns);
    expect(table.lines([{ id: 'abc', a: { b: 1 } }])).toBe('ID   DEEP\nabc  1\n');
    expect(table.lines([{ id: 'a', a: { b: true } }])).toBe('a    true\n');
    expect(table.lines([{ id: 'abcdef', a: { b: ['x', 'y'] } }])).toBe('abcdef  x, y\n');
  });

  it('shows a missing value as a dash', () => {
    expect(new RowTable(columns).lines([{ id: null }, { a: 1 }, { a: [] }])).toBe('ID  DEEP\n-   -\n-   -\n-   -\n');
  });

  it('prints every row on one line, whatever it contains', () => {
    expect(new RowTable(columns).lines([{ id: 'a\nb\u001b[2J', a: { b: '\u202e' } }])).toBe(
      'ID       DEEP\na\ufffdb\ufffd[2J  \ufffd\n',
    );
  });

  it('counts characters, not code units, and truncates only after the first column', () => {
    const long = '𝄞'.repeat(41);
    expect(new RowTable(columns).lines([{ id: long, a: { b: long } }])).toBe(
      `ID${' '.repeat(39)}  DEEP\n${long}  ${'𝄞'.repeat(39)}…\n`,
    );
  });
});
