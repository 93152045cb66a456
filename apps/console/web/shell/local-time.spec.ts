import { expect, it } from '@jest/globals';
import { localTime } from './local-time.ts';

it('is the minute of an instant in the time zone of the reader, as an input takes it', () => {
  const at = new Date(2026, 2, 4, 5, 6, 59, 999);
  expect(localTime(at.toISOString())).toBe('2026-03-04T05:06');
  expect(new Date(localTime(at.getTime())).getTime()).toBe(new Date(2026, 2, 4, 5, 6).getTime());
});
