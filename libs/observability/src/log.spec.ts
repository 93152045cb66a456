import { PassThrough, Writable } from 'node:stream';
import { mock } from 'node:test';
import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLog, requestLine, type RequestRecord, type ServiceLog } from './log.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const record: RequestRecord = { method: 'GET', route: '/', status: 200, durationMs: 1, requestId: 'r' };

function open(
  level = 'debug',
  stream: Writable = new PassThrough(),
): { readonly log: ServiceLog; readonly lines: () => Record<string, unknown>[] } {
  const log = createLog({ service: 'case-gate', level, stream, now: () => NOON });
  const lines = (): Record<string, unknown>[] =>
    String((stream instanceof PassThrough && stream.read()) || '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { log, lines };
}

/** A stream that blocks until it is released. */
function stuckStream(): { stream: Writable; release: () => void; taken: () => string } {
  let text = '';
  let free = false;
  let next: (() => void) | undefined;
  const stream = new Writable({
    highWaterMark: 1024,
    write: (chunk, _encoding, done) => {
      text += String(chunk);
      if (free) done();
      else next = done;
    },
  });
  const release = (): void => {
    free = true;
    next?.();
  };
  return { stream, release, taken: () => text };
}

describe('createLog', () => {
  afterEach(() => mock.timers.reset());

  it('prints one JSON object on a line: time, level, service, event, fields', () => {
    const { log, lines } = open();
    log.warn('redis_away', { reason: 'timeout' });
    expect(lines()).toEqual([
      { time: '2026-01-01T12:00:00.000Z', level: 'warn', service: 'case-gate', event: 'redis_away', reason: 'timeout' },
    ]);
  });

  it('prints lines of its level and above', () => {
    const { log, lines } = open('warn');
    for (const level of ['error', 'warn', 'info', 'debug'] as const) log[level](`a_${level}`);
    log.requests.write(record);
    expect(lines().map(({ event }) => event)).toEqual(['a_error', 'a_warn']);
  });

  it('refuses an unknown level', () => {
    expect(() => open('verbose')).toThrow('The log level must be one of error, warn, info, debug.');
  });

  it('passes the fields of a log to its children, whose own fields win', () => {
    const { log, lines } = open();
    log.child({ networkId: 'a', part: 'tree' }).child({ networkId: 'b' }).info('signed', { size: 3 });
    expect(lines()).toMatchObject([{ event: 'signed', part: 'tree', networkId: 'b', size: 3 }]);
  });

  it('redacts secrets by name and by pattern, in fields, children and events', () => {
    const key = `gk_${'Q'.repeat(43)}`;
    const { log, lines } = open();
    log.child({ token: key }).error(`failed ${key}`, { error: new Error(key), rawKey: 'x' });
    const [line] = lines();
    expect(line).toMatchObject({ token: '[redacted]', rawKey: '[redacted]', event: 'failed gk_[redacted]' });
    expect(JSON.stringify(line)).not.toContain(key);
  });

  it('prints request lines in order, flushed at the end', async () => {
    const { log, lines } = open();
    log.requests.write(record);
    log.requests.write({ ...record, status: 503 });
    expect(lines()).toEqual([]);
    await log.flush();
    expect(lines().map(({ event, status }) => [event, status])).toEqual([
      ['request', 200],
      ['request', 503],
    ]);
  });

  it('renders a request at once, so that its record can be reused', async () => {
    const { log, lines } = open();
    const reused = { ...record, requestId: 'before' };
    log.requests.write(reused);
    reused.requestId = 'after';
    await log.flush();
    expect(lines()).toMatchObject([{ level: 'info', service: 'case-gate', event: 'request', requestId: 'before' }]);
  });

  it('drops request lines of a blocked stream beyond its limit, counts them, and reports it afterwards', () => {
    const { stream, release, taken } = stuckStream();
    const { log } = open('info', stream);
    const requestId = 'r'.repeat(40);
    log.error('first'.padEnd(2000));
    for (let line = 0; line < 10_000; line += 1) log.requests.write({ ...record, requestId });
    expect(log.droppedLines).toBeGreaterThan(1000);
    const { droppedLines } = log;
    release();
    const events = taken()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const reports = events.filter(({ event }) => event === 'log_lines_dropped');
    expect(reports).toMatchObject([{ level: 'warn', lines: droppedLines }]);
  });

  it('drops other lines only when a megabyte is buffered in the stream', () => {
    const { stream } = stuckStream();
    const { log } = open('info', stream);
    for (let line = 0; line < 400; line += 1) log.error('x', { detail: 'y'.repeat(8000) });
    expect(stream.writableLength).toBeLessThan(1_100_000);
    expect(log.droppedLines).toBeGreaterThan(200);
  });

  it('flushes within a second even if the stream stays blocked', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { stream } = stuckStream();
    const { log } = open('info', stream);
    log.error('x');
    const flushed = log.flush();
    mock.timers.tick(1000);
    await expect(flushed).resolves.toBeUndefined();
  });

  it('survives a stream that breaks', async () => {
    const stream = new PassThrough();
    const { log } = open('info', stream);
    stream.destroy(new Error('EPIPE'));
    await new Promise((resolve) => stream.once('close', resolve));
    log.error('x');
    log.requests.write(record);
    await log.flush();
    expect(log.droppedLines).toBe(2);
  });
});

const AT = '2026-01-01T00:00:00.000Z';
const print = (record: RequestRecord): string => JSON.stringify(requestLine(AT, 'ingest-gateway', record));
const least: RequestRecord = { method: 'POST', route: '/{networkId}', status: 200, durationMs: 1.5, requestId: 'r-1' };

describe('the line of a request', () => {
  it('renders a minimal request', () => {
    expect(print(least)).toBe(
      '{"time":"2026-01-01T00:00:00.000Z","level":"info","service":"ingest-gateway","event":"request",' +
        '"method":"POST","route":"/{networkId}","status":200,"durationMs":1.5,"requestId":"r-1"}',
    );
  });

  it('renders all members in fixed order', () => {
    const record: Required<RequestRecord> = {
      ...least,
      outcome: 'committed',
      tool: 'list_assets',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      code: 'RATE_LIMITED',
      keyId: 'key_1',
      orgId: 'org_1',
      networkId: 'acme',
      environment: 'live',
      clientAddress: '192.0.2.1',
      tokenRefused: 'expired',
      issuer: 'https://login.example.com',
      subject: 'ada',
      bytesIn: 10,
      bytesOut: 20,
      records: 2,
      strippedFields: 1,
      eventId: 'evt_1',
      replayed: true,
      reason: 'The database is away.',
      transactionId: 'abc',
      ledgerRecordId: 'ledger_rec_1',
    };
    expect(print(record)).toBe(
      '{"time":"2026-01-01T00:00:00.000Z","level":"info","service":"ingest-gateway","event":"request",' +
        '"method":"POST","route":"/{networkId}","status":200,"durationMs":1.5,"requestId":"r-1",' +
        '"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","code":"RATE_LIMITED","keyId":"key_1","orgId":"org_1",' +
        '"networkId":"acme","environment":"live","clientAddress":"192.0.2.1",' +
        '"tokenRefused":"expired","issuer":"https://login.example.com","subject":"ada","bytesIn":10,"bytesOut":20,"records":2,' +
        '"strippedFields":1,"eventId":"evt_1","replayed":true,"outcome":"committed","reason":"The database is away.",' +
        '"transactionId":"abc","ledgerRecordId":"ledger_rec_1","tool":"list_assets"}',
    );
  });

  it('ignores unknown members', () => {
    const record = { ...least, body: 'x', authorization: 'y' };
    expect(Object.keys(JSON.parse(print(record)))).toEqual([
      'time',
      'level',
      'service',
      'event',
      'method',
      'route',
      'status',
      'durationMs',
      'requestId',
    ]);
  });

  it.each([
    [0, 0],
    [0.0004, 0],
    [0.001, 0.001],
    [1.0499, 1.05],
    [12.3456, 12.346],
    [1234.9999, 1235],
    [30_000, 30_000],
    [Number.NaN, null],
    [-1, null],
    [Infinity, null],
  ])('renders a duration of %d ms as %d', (durationMs, expected) => {
    expect(JSON.parse(print({ ...least, durationMs })).durationMs).toBe(expected);
  });

  it('redacts a key in the request id', () => {
    const line = print({ ...least, requestId: `ingest_${'a'.repeat(43)}` });
    expect(JSON.parse(line).requestId).toBe('ingest_[redacted]');
  });

  it('renders valid JSON for any texts and numbers', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 60 });
    fc.assert(
      fc.property(texts, texts, fc.tuple(fc.double(), fc.double()), (requestId, networkId, [durationMs, bytesIn]) => {
        const line = print({ ...least, requestId, networkId, durationMs, bytesIn });
        expect(line).not.toContain('\n');
        expect(JSON.parse(line)).toMatchObject({
          requestId: requestId.toWellFormed() === requestId ? requestId : expect.any(String),
        });
      }),
    );
  });
});
