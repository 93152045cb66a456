import { describe, expect, it } from '@jest/globals';
import { rowCounter } from './save-stream.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('the rows of an export', () => {
  it('are the lines of CSV after its head, with a line break in quotes as part of a cell', () => {
    const count = rowCounter('csv');
    expect(count(bytes('id,title\r\n'))).toBe(0);
    expect(count(bytes('1,"two\r\nlines and ""quo'))).toBe(0);
    expect(count(bytes('tes"""\r\n2,plain\r\n'))).toBe(2);
  });

  it('are the lines of JSON Lines, whose quotes hold no line break', () => {
    const count = rowCounter('jsonl');
    expect(count(bytes('{"a":"\\""}\n{"a"'))).toBe(1);
    expect(count(bytes(':1}\n'))).toBe(2);
  });
});
