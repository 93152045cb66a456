import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { readingPlaces, type ReadApart } from './read-body.ts';
import { DEFAULT_LIMITS } from './read-submission.ts';

const rules = { record: 'envelope', limits: DEFAULT_LIMITS } as const;
const read = { kind: 'ping' } as const;

/** Where bodies of this many bytes are read, when reading one takes `takesMs` on the main thread. */
function places(takesMs: number) {
  let nowMs = 0;
  const trail: string[] = [];
  const place = readingPlaces({
    readHere: () => {
      nowMs += takesMs;
      trail.push('here');
      return read;
    },
    readApart: (async () => {
      trail.push('apart');
      return read;
    }) as ReadApart,
    now: () => nowMs,
  });
  const send = (bytes: number, sender = 'one', first = ' ') => void place(Buffer.alloc(bytes, first), rules, sender);
  return { send, trail, advance: (ms: number) => (nowMs += ms) };
}

describe('a body is read', () => {
  it('on the main thread up to 32 KiB while it takes the expected time, and in the thread above', () => {
    const { send, trail } = places(1);
    for (let count = 0; count < 100; count += 1) send(25_000);
    expect(new Set(trail)).toEqual(new Set(['here']));
    trail.length = 0;
    for (const bytes of [32_768, 32_769, 1_048_576]) send(bytes);
    expect(trail).toEqual(['here', 'apart', 'apart']);
  });

  it('in the thread for ten seconds once the bodies of its sender exceeded the expected time by 10 ms; other senders are not affected', () => {
    const { send, trail, advance } = places(5);
    send(100, 'other');
    for (let count = 0; count < 4; count += 1) send(16_384);
    expect(trail).toEqual(['here', 'here', 'here', 'here', 'apart']);
    send(16_384, 'other');
    send(4096);
    expect(trail.slice(5)).toEqual(['here', 'here']);
    advance(9000);
    send(100, 'other');
    send(16_384);
    advance(1000);
    send(100, 'other');
    send(16_384);
    expect(trail.slice(7)).toEqual(['here', 'apart', 'here', 'here']);
  });

  it('on the main thread at any cost while no other sender has sent anything for a second', () => {
    const { send, trail, advance } = places(50);
    for (let count = 0; count < 20; count += 1) send(16_384);
    expect(new Set(trail)).toEqual(new Set(['here']));
    send(100, 'other');
    trail.length = 0;
    for (let count = 0; count < 3; count += 1) send(16_384);
    expect(trail).toEqual(['here', 'apart', 'apart']);
    advance(1001);
    send(16_384);
    expect(trail.at(-1)).toBe('here');
  });

  it('on the main thread though it is large, where it is nothing but brackets', () => {
    const { send, trail } = places(1);
    send(1_048_576, 'one', '[');
    expect(trail).toEqual(['here']);
  });

  it('and charged for even if it is refused', () => {
    let nowMs = 0;
    let apart = 0;
    const place = readingPlaces({
      readHere: () => {
        nowMs += 20;
        throw new AppError('INVALID_JSON', 'No.');
      },
      readApart: (async () => {
        apart += 1;
        return read;
      }) as ReadApart,
      now: () => nowMs,
    });
    expect(() => place(Buffer.alloc(9), rules, 'other')).toThrow('No.');
    expect(() => place(Buffer.alloc(16_384), rules, 'one')).toThrow('No.');
    void place(Buffer.alloc(16_384), rules, 'one');
    expect(apart).toBe(1);
  });
});
