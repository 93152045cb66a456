import { expect, it } from '@jest/globals';
import { timeOrderedIds } from './time-ordered-ids.ts';

it('ids are a prefix, the millisecond and chance, and sort by when they were made', () => {
  let now = 0x0123456789ab;
  const newId = timeOrderedIds(
    () => now + 0.75,
    (bytes) => Buffer.alloc(bytes, 0xff),
  );
  // Version and variant of RFC 9562 stand at digits 13 and 17.
  expect(newId('key_')).toBe('key_0123456789ab7fffbfffffffffffffff');
  now += 1;
  expect(newId('')).toBe('0123456789ac7fffbfffffffffffffff');
});
