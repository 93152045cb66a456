import { Writable } from 'node:stream';
import { mock } from 'node:test';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LineTransport } from './log.ts';

/** A stream that a test can block, and the writes it received. */
class BlockableStream extends Writable {
  readonly written: string[] = [];
  blocked = false;

  constructor() {
    super();
    Object.defineProperty(this, 'writableNeedDrain', { get: () => this.blocked });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (chunk.length > 0) this.written.push(String(chunk));
    done();
  }

  release(): void {
    this.blocked = false;
    this.emit('drain');
  }
}

function setUp() {
  const stream = new BlockableStream();
  const transport = new LineTransport(stream, () => undefined);
  const log = (text: string, record?: unknown): void =>
    transport.log({ [Symbol.for('message')]: text, record }, () => undefined);
  const writeRequests = (...texts: string[]): void => texts.forEach((text) => log(text, {}));
  return { stream, transport, log, writeRequests };
}

describe('LineTransport', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'] }));
  afterEach(() => mock.timers.reset());

  it('batches request lines of 50 ms', () => {
    const { stream, writeRequests } = setUp();
    writeRequests('a', 'b');
    mock.timers.tick(49);
    writeRequests('c');
    expect(stream.written).toEqual([]);
    mock.timers.tick(1);
    expect(stream.written).toEqual(['a\nb\nc\n']);
    mock.timers.tick(1000);
    expect(stream.written).toHaveLength(1);
  });

  it('writes a batch when 64 KiB are reached', () => {
    const { stream, writeRequests } = setUp();
    writeRequests(...new Array<string>(7).fill('x'.repeat(10_000)));
    expect(stream.written.map((text) => text.length)).toEqual([70_007]);
    writeRequests('next');
    mock.timers.tick(50);
    expect(stream.written).toHaveLength(2);
  });

  it('writes any other line without waiting', () => {
    const { stream, log } = setUp();
    log('now');
    expect(stream.written).toEqual(['now\n']);
  });

  it('queues while the stream is blocked, then writes in order', () => {
    const { stream, transport, writeRequests } = setUp();
    stream.blocked = true;
    writeRequests('a');
    mock.timers.tick(50);
    writeRequests('b');
    mock.timers.tick(50);
    expect(stream.written).toEqual([]);
    stream.release();
    expect(stream.written).toEqual(['a\n', 'b\n']);
    expect(transport.dropped).toBe(0);
  });

  it('drops the oldest request lines beyond 1 MiB, and counts them', () => {
    const { stream, transport, writeRequests } = setUp();
    stream.blocked = true;
    for (let line = 0; line < 20; line += 1) writeRequests(`line ${line} `.padEnd(65_535, '.'));
    expect(transport.dropped).toBe(4);
    stream.release();
    expect(stream.written).toHaveLength(16);
    expect(stream.written[0]?.startsWith('line 4 ')).toBe(true);
    expect(stream.written[15]?.startsWith('line 19 ')).toBe(true);
  });

  it('flushes even a blocked stream', async () => {
    const { stream, transport, writeRequests } = setUp();
    stream.blocked = true;
    writeRequests('last');
    await transport.flush(1000);
    expect(stream.written).toEqual(['last\n']);
  });
});
