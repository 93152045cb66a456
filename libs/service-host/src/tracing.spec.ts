import { createServer } from 'node:http';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { activeSpan, createLog, inSpan, Metrics, startSpan, withSpan } from '@sealgate/observability';
import { otlpReceiver, until, type OtlpReceiver } from '@sealgate/testing';
import { loadConfig } from './load-config.ts';
import type { TracingLimits } from './span-export.ts';
import { startTracing } from './tracing.ts';
import { tracingFields } from './listener-fields.ts';

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const sampled = { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`, tracestate: 'vendor=abc' };
const unsampled = { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-00`, tracestate: undefined };
const REQUEST = { name: 'POST /{networkId}', kind: 'server', beginsTrace: true } as const;
const nothing = { traceparent: undefined, tracestate: undefined };

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function receiver(...how: Parameters<typeof otlpReceiver>): Promise<OtlpReceiver> {
  const made = await otlpReceiver(...how);
  closers.push(() => made.close());
  return made;
}

function begin(url: string, env: Record<string, string> = {}, limits: Partial<TracingLimits> = {}) {
  const config = loadConfig(tracingFields, { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env });
  const lines: string[] = [];
  const stream = new Writable({
    write(part: Buffer, _encoding, done) {
      lines.push(part.toString());
      done();
    },
  });
  const log = createLog({
    service: 'x',
    level: 'info',
    stream,
    now: () => 0,
  });
  const metrics = new Metrics('x', { unknownLabels: 'throw', processMetrics: false });
  const stop = startTracing({
    name: 'desk',
    config: { ...config, otlpEndpoint: config.otlpEndpoint! },
    log,
    metrics,
    limits: { exportEveryMs: 5, ...limits },
  });
  closers.push(stop);
  const metric = async (name: string) => {
    const line = (await metrics.text()).split('\n').find((one) => one.startsWith(name));
    return Number(line?.split(' ').at(-1));
  };
  return { stop, metric, lines: async () => (await log.flush(), lines.join('')) };
}

describe('spans', () => {
  it('are absent, and cost nothing, without tracing', () => {
    expect(startSpan(REQUEST)).toBeUndefined();
    expect(inSpan(REQUEST, () => activeSpan())).toBeUndefined();
  });

  it("continue the caller's trace, and are parents of their child spans", async () => {
    const collector = await receiver();
    const { stop } = begin(collector.url);
    const request = startSpan({ ...REQUEST, remote: sampled })!;
    await withSpan(request, () =>
      inSpan(
        { name: 'ledger append' },
        async () => void (await Promise.resolve(), startSpan({ name: 'SELECT a.b', kind: 'client' })?.end()),
      ),
    );
    request.set({ 'http.response.status_code': 202 });
    request.end();
    await stop();
    const byName = new Map(collector.spans.map((span) => [span.name, span]));
    const [top, append, select] = ['POST /{networkId}', 'ledger append', 'SELECT a.b'].map((name) => byName.get(name)!);
    expect(collector.spans.map(({ traceId }) => traceId)).toEqual(Array(3).fill(CALLER.traceId));
    expect(top).toMatchObject({ parentSpanId: CALLER.spanId, kind: 2, traceState: 'vendor=abc', status: 0 });
    expect(top!.attributes).toEqual({ 'http.response.status_code': 202 });
    expect(append).toMatchObject({ parentSpanId: top!.spanId, kind: 1 });
    expect(select).toMatchObject({ parentSpanId: append!.spanId, kind: 3 });
    expect(request.traceparent).toBe(`00-${CALLER.traceId}-${top!.spanId}-01`);
    expect(request.tracestate).toBe('vendor=abc');
    expect(top!.resource).toMatchObject({ 'service.name': 'desk' });
    expect(collector.exports[0]!.path).toBe('/v1/traces');
  });

  it.each([
    [undefined],
    ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more'],
    ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
    ['00-00000000000000000000000000000000-b7ad6b7169203331-01'],
    ['00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01'],
    ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
  ])('start a new trace if traceparent is %s', async (traceparent) => {
    const collector = await receiver();
    const { stop } = begin(collector.url);
    startSpan({ ...REQUEST, remote: { traceparent, tracestate: 'vendor=abc' } })!.end();
    await stop();
    expect(collector.spans[0]).toMatchObject({ parentSpanId: '', traceState: '' });
    expect(collector.spans[0]!.traceId).not.toBe(CALLER.traceId);
  });

  it("are not recorded if the caller's trace is not sampled", async () => {
    const collector = await receiver();
    const { stop } = begin(collector.url);
    const request = startSpan({ ...REQUEST, remote: unsampled })!;
    expect(request.traceId).toBe(CALLER.traceId);
    expect(request.traceparent).toMatch(/-00$/);
    withSpan(request, () => expect(startSpan({ name: 'ledger append' })).toBeUndefined());
    request.end();
    await stop();
    expect(collector.spans).toEqual([]);
  });

  it('are sampled independently of the caller with traceidratio', async () => {
    const collector = await receiver();
    const { stop } = begin(collector.url, { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' });
    startSpan({ ...REQUEST, remote: sampled })!.end();
    await stop();
    expect(collector.spans).toEqual([]);
  });

  it('belong to a request: background loops and work after its end are not traced', async () => {
    const collector = await receiver();
    const { stop } = begin(collector.url);
    expect(startSpan({ name: 'SELECT a.b' })).toBeUndefined();
    const request = startSpan({ ...REQUEST, remote: nothing })!;
    request.end();
    withSpan(request, () => expect(startSpan({ name: 'SELECT a.b' })).toBeUndefined());
    await stop();
    expect(collector.spans).toHaveLength(1);
  });

  it('record a failure by its code or class, never by its message', async () => {
    const collector = await receiver();
    const { stop } = begin(collector.url);
    const failed = Object.assign(new Error('row (secret-content) exists'), { code: '23505' });
    await expect(inSpan(REQUEST, () => Promise.reject(failed))).rejects.toBe(failed);
    expect(() =>
      inSpan(REQUEST, () => {
        throw new TypeError('secret-content');
      }),
    ).toThrow(TypeError);
    await stop();
    expect(collector.spans.map(({ attributes, status }) => [attributes['error.type'], status])).toEqual(
      expect.arrayContaining([
        ['TypeError', 2],
        ['23505', 2],
      ]),
    );
    expect(Buffer.concat(collector.bytes).includes('secret-content')).toBe(false);
  });

  it('are exported with resource attributes and the configured headers', async () => {
    const collector = await receiver();
    const env = {
      OTEL_SERVICE_NAME: 'door',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=a%20b',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc',
    };
    const { stop } = begin(`${collector.url}/base/`, env);
    startSpan(REQUEST)!.end();
    await stop();
    expect(collector.spans[0]!.resource).toMatchObject({
      'service.name': 'door',
      'deployment.environment.name': 'a b',
    });
    expect(collector.exports[0]).toMatchObject({ path: '/base/v1/traces', headers: { authorization: 'Bearer abc' } });
  });
});

describe('a collector', () => {
  it('that is unavailable loses spans, which are counted, and is logged once', async () => {
    const { stop, metric, lines } = begin('http://127.0.0.1:1', {}, { exportTimeoutMs: 100 });
    startSpan(REQUEST)!.end();
    await until(async () => (await metric('trace_spans_dropped_total{reason="export_failed"')) === 1, {
      timeoutMs: 5_000,
    });
    startSpan(REQUEST)!.end();
    await stop();
    expect(await metric('trace_spans_dropped_total{reason="export_failed"')).toBe(2);
    expect((await lines()).match(/trace_export_failed/g)).toHaveLength(1);
  });

  it('that hangs fills a bounded queue, and does not delay the exit', async () => {
    const collector = await receiver(() => undefined);
    const limits = { queueSpans: 10, batchSpans: 5, exportTimeoutMs: 3_000, drainTimeoutMs: 50 };
    const { stop, metric, lines } = begin(collector.url, {}, limits);
    for (let count = 0; count < 30; count += 1) startSpan(REQUEST)!.end();
    // Five are being exported, ten are queued.
    expect(await metric('trace_spans_dropped_total{reason="queue_full"')).toBe(15);
    const startedAt = performance.now();
    await stop();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(await lines()).toContain('"event":"trace_spans_lost","spans":15');
  });

  it('that recovers is logged, and its spans are counted', async () => {
    let isUp = false;
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () => response.writeHead(isUp ? 200 : 400).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(async () => void server.close());
    const { port } = server.address() as { port: number };
    const { stop, metric, lines } = begin(`http://127.0.0.1:${port}`);
    startSpan(REQUEST)!.end();
    await until(async () => (await metric('trace_spans_dropped_total{reason="export_failed"')) === 1, {
      timeoutMs: 5_000,
    });
    isUp = true;
    startSpan(REQUEST)!.end();
    await stop();
    expect(await metric('trace_spans_exported_total')).toBe(1);
    expect(await lines()).toContain('trace_export_recovered');
  });
});

describe('tracing settings', () => {
  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'ftp://collector'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:word@collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=%zz'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', '-1'],
  ])('refuse %s=%s', (name, value) => {
    expect(() => loadConfig(tracingFields, { [name]: value })).toThrow(name);
  });

  it('ignore other OpenTelemetry variables', () => {
    const ofPlatform = { OTEL_RESOURCE_ATTRIBUTES_POD_NAME: 'p', OTEL_PROPAGATORS: 'b3', OTEL_SDK_DISABLED: 'true' };
    expect(loadConfig(tracingFields, ofPlatform)).toEqual(loadConfig(tracingFields, {}));
  });

  it('are refused if the certificate cannot be read', () => {
    expect(() => begin('https://127.0.0.1:1', { OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere.pem' })).toThrow(
      'OTEL_EXPORTER_OTLP_CERTIFICATE: cannot be read: ENOENT',
    );
  });
});
