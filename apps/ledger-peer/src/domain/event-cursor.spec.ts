import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BEGINNING, END_OF_BLOCK, makeEventCursor, readEventCursor } from './event-cursor.ts';

const place = { in: 'query', pointer: '/from' } as const;
const read = (channel: string, cursor: string) => readEventCursor(channel, cursor, place);
const positions = fc.record({
  block: fc.integer({ min: -1, max: 2 ** 48 - 2 }),
  index: fc.integer({ min: 0, max: END_OF_BLOCK }),
});
const channels = fc.stringMatching(/^[a-z0-9-]{1,40}\.[a-z0-9-]{1,40}$/);
const invalid = expect.objectContaining({
  code: 'INVALID_CURSOR',
  status: 400,
  faults: [expect.objectContaining(place)],
});

describe('the cursor of an event', () => {
  it('is 24 characters of base64url and returns every position of its channel', () => {
    fc.assert(
      fc.property(channels, positions, (channel, position) => {
        const cursor = makeEventCursor(channel, position);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]{24}$/);
        expect(read(channel, cursor)).toEqual(position);
      }),
    );
    expect(read('acme.main', makeEventCursor('acme.main', BEGINNING))).toEqual(BEGINNING);
  });

  it('is the same in every process and for ever: consumers keep it', () => {
    // 000000000007 00000002, and the first 8 bytes of SHA-256("events v1\0acme.main\0" and these 10 bytes).
    expect(makeEventCursor('acme.main', { block: 6, index: 2 })).toBe('AAAAAAAHAAAAAlaYpDGz16t9');
  });

  it('is refused for any other channel', () => {
    fc.assert(
      fc.property(channels, channels, positions, (channel, other, position) => {
        fc.pre(channel !== other);
        expect(() => read(other, makeEventCursor(channel, position))).toThrow(invalid);
      }),
    );
  });

  it('is refused with any one character changed, removed or added', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.+/ \n';
    fc.assert(
      fc.property(
        positions,
        fc.nat({ max: 24 }),
        fc.constantFrom(...alphabet),
        fc.boolean(),
        (position, at, character, replaces) => {
          const cursor = makeEventCursor('acme.main', position);
          const changed = cursor.slice(0, at) + character + cursor.slice(replaces ? at + 1 : at);
          if (changed !== cursor) expect(() => read('acme.main', changed)).toThrow(invalid);
          if (at < 24) expect(() => read('acme.main', cursor.slice(0, at))).toThrow(invalid);
        },
      ),
    );
  });

  it.each(['', '0', 'x', '1', 'evt_1', 'A'.repeat(24), 'A'.repeat(10_000), '\u{10ffff}'])(
    'is refused if it is %j',
    (text) => {
      expect(() => read('acme.main', text)).toThrow(invalid);
    },
  );
});
