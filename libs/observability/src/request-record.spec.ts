import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { requestLine, type RequestRecord } from './request-record.ts';

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
      bytesIn: 10,
      bytesOut: 20,
      records: 2,
      strippedFields: 1,
      eventId: 'evt_1',
      replayed: true,
    };
    expect(print(record)).toBe(
      '{"time":"2026-01-01T00:00:00.000Z","level":"info","service":"ingest-gateway","event":"request",' +
        '"method":"POST","route":"/{networkId}","status":200,"durationMs":1.5,"requestId":"r-1",' +
        '"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","code":"RATE_LIMITED","keyId":"key_1","orgId":"org_1",' +
        '"networkId":"acme","environment":"live","clientAddress":"192.0.2.1","bytesIn":10,"bytesOut":20,"records":2,' +
        '"strippedFields":1,"eventId":"evt_1","replayed":true,"outcome":"committed","tool":"list_assets"}',
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
