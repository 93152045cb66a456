import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { createLog, Metrics } from '@sealgate/observability';
import { StartError } from '@sealgate/service-host';
import { DEFAULT_LIMITS } from './domain/read-submission.ts';
import { openReading, readingProgram } from './open-reading.ts';

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
    const rules = { record: 'envelope', limits: DEFAULT_LIMITS } as const;
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
