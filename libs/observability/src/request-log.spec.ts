import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LineSink } from './line-sink.ts';
import type { RequestRecord } from './request-line.ts';
import { RequestBatcher } from './request-log.ts';

const record: RequestRecord = { method: 'GET', route: '/', status: 200, durationMs: 1, requestId: '' };

/** A sink whose stream a test can block. */
function fakeSink() {
  const printed: { text: string; lines: number }[] = [];
  let unblock = (): void => undefined;
  const sink: LineSink & { blocked: boolean } = {
    blocked: false,
    dropped: 0,
    print: (_level, text, lines = 1) => printed.push({ text, lines }),
    isEnabled: () => true,
    onUnblocked: (listener) => {
      unblock = listener;
    },
    settle: () => Promise.resolve(),
  };
  const release = (): void => {
    sink.blocked = false;
    unblock();
  };
  return { sink, printed, release };
}

function write(batcher: RequestBatcher, ...lines: string[]): void {
  for (const requestId of lines) batcher.write({ ...record, requestId });
}

describe('RequestBatcher', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('hands over everything of 50 ms in one call', () => {
    const { sink, printed } = fakeSink();
    const batcher = new RequestBatcher(sink, (line) => line.requestId);
    write(batcher, 'a', 'b');
    jest.advanceTimersByTime(49);
    write(batcher, 'c');
    expect(printed).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(printed).toEqual([{ text: 'a\nb\nc', lines: 3 }]);
    jest.advanceTimersByTime(1000);
    expect(printed).toHaveLength(1);
  });

  it('hands over at once when 64 KiB are full', () => {
    const { sink, printed } = fakeSink();
    const batcher = new RequestBatcher(sink, (line) => line.requestId);
    write(batcher, ...new Array<string>(7).fill('x'.repeat(10_000)));
    expect(printed.map(({ lines }) => lines)).toEqual([7]);
    write(batcher, 'next');
    jest.advanceTimersByTime(50);
    expect(printed.map(({ lines }) => lines)).toEqual([7, 1]);
  });

  it('renders at once, so that the record may be used again', () => {
    const { sink, printed } = fakeSink();
    const batcher = new RequestBatcher(sink, (line) => line.requestId);
    const reused = { ...record, requestId: 'before' };
    batcher.write(reused);
    reused.requestId = 'after';
    batcher.flush();
    expect(printed[0]?.text).toBe('before');
  });

  it('waits while the stream is blocked, then hands over in order', () => {
    const { sink, printed, release } = fakeSink();
    const batcher = new RequestBatcher(sink, (line) => line.requestId);
    sink.blocked = true;
    write(batcher, 'a');
    jest.advanceTimersByTime(50);
    write(batcher, 'b');
    jest.advanceTimersByTime(50);
    expect(printed).toEqual([]);
    release();
    expect(printed.map(({ text }) => text)).toEqual(['a', 'b']);
    expect(batcher.dropped).toBe(0);
  });

  it('drops the oldest lines past a mebibyte, and counts them', () => {
    const { sink, printed, release } = fakeSink();
    const batcher = new RequestBatcher(sink, (line) => line.requestId.padEnd(65_536, '.'));
    sink.blocked = true;
    for (let line = 0; line < 20; line += 1) write(batcher, `line ${line} `);
    expect(batcher.dropped).toBe(4);
    release();
    expect(printed).toHaveLength(16);
    expect(printed[0]?.text.startsWith('line 4 ')).toBe(true);
    expect(printed[15]?.text.startsWith('line 19 ')).toBe(true);
  });

  it('flushes even a blocked stream', () => {
    const { sink, printed } = fakeSink();
    const batcher = new RequestBatcher(sink, (line) => line.requestId);
    sink.blocked = true;
    write(batcher, 'last');
    batcher.flush();
    expect(printed).toEqual([{ text: 'last', lines: 1 }]);
  });
});
