import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { redisAvailable, until, type ReceivedSpan } from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { contractSetup, setupTimeoutMs } from './harness/contract-setup.ts';
import { missingCollector, startCollector, type Collector } from './harness/otel-collector.ts';
import { peerSetup } from './harness/peer-setup.ts';
import { riskSetup } from './harness/risk-setup.ts';
import { sender } from './harness/sender.ts';

const missing = missingCollector();
if (missing !== undefined)
  process.stderr.write(`SKIPPED: spans are not sent through the OpenTelemetry collector here: ${missing}\n`);

const SECRET = 'never-to-be-traced';
const CALLER_SPAN = 'b7ad6b7169203331';
const [SERVER, CLIENT] = [2, 3];

let collector: Collector;
beforeAll(async () => {
  collector = await startCollector(missing === undefined);
}, setupTimeoutMs);
afterAll(() => collector.stop());

const tracedBy = ({ url }: Collector) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
const traceparent = (traceId: string, flags = '01'): string => `00-${traceId}-${CALLER_SPAN}-${flags}`;

/** Each span of a trace by the names of its ancestors. */
async function treeOf(traceId: string): Promise<{ paths: string[]; spans: ReceivedSpan[]; top: ReceivedSpan }> {
  const spans = (): ReceivedSpan[] => collector.spans.filter((span) => span.traceId === traceId);
  // Spans are sent in the order of their ends, so a parent comes after its children.
  await until(() => spans().some(({ kind }) => kind === SERVER), { timeoutMs: 15_000, what: `the trace ${traceId}` });
  const all = spans();
  const pathOf = (span: ReceivedSpan): string => {
    const parent = all.find(({ spanId }) => spanId === span.parentSpanId);
    return parent === undefined ? span.name : `${pathOf(parent)} > ${span.name}`;
  };
  return { paths: all.map(pathOf).sort(), spans: all, top: all.find(({ kind }) => kind === SERVER)! };
}

describe('A trace', () => {
  it(
    "of a write through the gateway shows all waits, as part of the sender's trace",
    async () => {
      const setup = await contractSetup({ env: tracedBy(collector) });
      try {
        const networkId = await setup.newNetwork();
        const { rawKey } = await setup.newKey(networkId);
        const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
        const from = sender(setup.gateway.public, networkId, rawKey);
        const headers = {
          traceparent: traceparent(traceId),
          tracestate: 'vendor=abc',
          'X-Request-Id': 'req-of-the-sender',
        };
        const answer = await from.post(
          { id: SECRET, type: SECRET, data: { a: SECRET } },
          { headers, idempotencyKey: SECRET },
        );
        expect(answer.status).toBe(200);
        const { paths, spans, top } = await treeOf(traceId);
        expect(top).toMatchObject({ name: 'POST /{networkId}', parentSpanId: CALLER_SPAN, traceState: 'vendor=abc' });
        expect(top.attributes).toMatchObject({
          'http.request.method': 'POST',
          'http.route': '/{networkId}',
          'http.response.status_code': 200,
          'sealgate.records': 1,
          'sealgate.request.id': 'req-of-the-sender',
          'sealgate.outcome': 'written',
        });
        const write = 'POST /{networkId} > ledger append > ledger write';
        expect(paths).toEqual(
          expect.arrayContaining([
            'POST /{networkId}',
            'POST /{networkId} > ledger append',
            'POST /{networkId} > ledger append > ledger queue',
            write,
            expect.stringMatching(new RegExp(`^${write} > SELECT ingest\\.append`)),
          ]),
        );
        expect(spans.find(({ name }) => name.startsWith('SELECT ingest.append'))).toMatchObject({
          kind: CLIENT,
          attributes: { 'db.system.name': 'postgresql', 'db.operation.name': 'SELECT' },
        });
        expect(top.resource).toMatchObject({ 'service.name': 'ingest-gateway' });
        // The log contains the trace id of a request.
        await until(() => setup.gateway.logText().includes(`"traceId":"${traceId}"`));

        const quiet = '5bf92f3577b34da6a3ce929d0e0e4736';
        await from.post({ a: 1 }, { headers: { traceparent: traceparent(quiet, '00') } });
        const refused = '6bf92f3577b34da6a3ce929d0e0e4736';
        const problem = await sender(setup.gateway.public, networkId, `ingest_${'A'.repeat(43)}`).post(
          { a: SECRET },
          { headers: { traceparent: traceparent(refused) } },
        );
        expect(problem.body).toMatchObject({ code: 'UNAUTHENTICATED', traceId: refused });
        expect((await treeOf(refused)).top.attributes).toMatchObject({
          'http.response.status_code': 401,
          'sealgate.problem.code': 'UNAUTHENTICATED',
        });
        await until(() => collector.spans.some(({ name }) => name === 'ledger integrate'));
        const metrics = await setup.gateway.ops.send({ path: '/metrics' });
        expect(metrics.text).toMatch(/trace_spans_exported_total\{[^}]*\} [1-9]/);
        expect(await setup.gateway.stop()).toBe(0);
        expect(collector.spans.filter((span) => span.traceId === quiet)).toEqual([]);
        const sent = Buffer.concat(collector.bytes);
        for (const hidden of [SECRET, rawKey, rawKey.slice(7), setup.adminToken, networkId])
          expect(sent.includes(hidden)).toBe(false);
      } finally {
        await setup.stop();
      }
    },
    setupTimeoutMs,
  );

  it(
    'of an asset of the ledger peer reaches the log as well',
    async () => {
      const setup = await peerSetup({ env: tracedBy(collector) });
      try {
        const traceId = '7bf92f3577b34da6a3ce929d0e0e4736';
        const body = { assets: [{ id: 'a-1', type: 'asset', data: { x: SECRET } }] };
        await setup.ask('POST', '/api/assets', { body, headers: { traceparent: traceparent(traceId) } });
        const { paths, top } = await treeOf(traceId);
        expect(top).toMatchObject({ parentSpanId: CALLER_SPAN, resource: { 'service.name': 'ledger-peer' } });
        expect(paths).toEqual(
          expect.arrayContaining([
            'POST /api/assets',
            'POST /api/assets > ledger append > ledger queue',
            'POST /api/assets > ledger append > ledger write',
            expect.stringMatching(/^POST \/api\/assets > ledger append > ledger write > SELECT /),
          ]),
        );
        if (redisAvailable) expect(paths).toContainEqual(expect.stringMatching(/^POST \/api\/assets > charge > EVAL/));
      } finally {
        await setup.stop();
      }
    },
    setupTimeoutMs,
  );

  it(
    'of a request of the risk surface contains its database queries, including those by Prisma',
    async () => {
      const postgres = await migratedPostgres('risk-partner');
      const setup = await riskSetup(postgres, tracedBy(collector));
      try {
        const { key } = await setup.newPerson(['owner']);
        const traceId = '8bf92f3577b34da6a3ce929d0e0e4736';
        const headers = { Authorization: `Bearer ${key}`, traceparent: traceparent(traceId) };
        const answer = await setup.processes[0]!.public.send({ path: '/api/risks', headers });
        expect(answer.status).toBe(200);
        const { paths, top, spans } = await treeOf(traceId);
        expect(top).toMatchObject({ name: 'GET /api/risks', parentSpanId: CALLER_SPAN });
        expect(paths.filter((path) => path.startsWith('GET /api/risks > SELECT')).length).toBeGreaterThan(0);
        expect(paths).toContainEqual(expect.stringMatching(/^GET \/api\/risks > authenticate > SELECT risk\./));
        expect(spans.filter(({ status }) => status === 2)).toEqual([]);
      } finally {
        await setup.stop();
        await postgres.stop();
      }
    },
    setupTimeoutMs,
  );
});

describe('A collector that is down', () => {
  it(
    'fails no request, and does not delay the exit of a process',
    async () => {
      const setup = await contractSetup({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } });
      try {
        const networkId = await setup.newNetwork();
        const { rawKey } = await setup.newKey(networkId);
        const from = sender(setup.gateway.public, networkId, rawKey);
        const answers = await Promise.all(Array.from({ length: 50 }, (_, count) => from.post({ count })));
        expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
        const dropped = async (): Promise<boolean> => {
          const { text } = await setup.gateway.ops.send({ path: '/metrics' });
          return /trace_spans_dropped_total\{[^}]*reason="export_failed"[^}]*\} [1-9]/.test(String(text));
        };
        await until(dropped, { timeoutMs: 20_000, what: 'spans counted as lost' });
        expect(await setup.gateway.stop()).toBe(0);
      } finally {
        await setup.stop();
      }
    },
    setupTimeoutMs,
  );
});
