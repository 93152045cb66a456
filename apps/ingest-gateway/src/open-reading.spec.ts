import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { createLog, Metrics } from '@sealgate/observability';
import { StartError } from '@sealgate/service-host';
import type { ReadApart } from './domain/read-submission.ts';
import { openReading, readingPlaces, readingProgram } from './open-reading.ts';

describe('the reader of large bodies', () => {
  it('is found beside main, reports its queue, and is released with the process', async () => {
    const released: (() => void | Promise<void>)[] = [];
    const metrics = new Metrics('ingest-gateway');
    const reading = openReading({
      bodyMaxBytes: 1_048_576,
      log: createLog({ service: 'test', level: 'error', stream: new PassThrough(), now: () => 0 }),
      metrics,
      own: (_name, release) => void released.push(release),
    });
    const rules = { record: 'envelope', maxBatchRecords: 1 } as const;
    const submission = reading.read(Buffer.from('{"assets":[{"b":1,"a":2}]}'), rules, 'acme');
    expect(await metrics.text()).toMatch(/^ingest_waiting_bodies(\{[^}]*\})? 1$/m);
    expect(await submission).toMatchObject({ kind: 'write', records: [{ data: '{"a":2,"b":1}' }], strippedFields: 0 });
    expect(await metrics.text()).toMatch(/^ingest_waiting_bodies(\{[^}]*\})? 0$/m);
    for (const release of released) await release();
    await expect(reading.read(Buffer.from('{}'), rules, 'acme')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('that is missing fails the start, by name, rather than the first large body', () => {
    const missing = () => readingProgram('/nowhere/main.js');
    expect(missing).toThrow('/nowhere/reading-worker.js is missing');
    expect(missing).toThrow(StartError);
  });
});

const rules = { record: 'envelope', maxBatchRecords: 100 } as const;
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
