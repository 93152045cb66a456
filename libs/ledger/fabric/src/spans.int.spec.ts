import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { activeSpan, spanChannel, startSpan, withSpan, type Span, type SpanMessage } from '@sealgate/observability';
import { until } from '@sealgate/testing';
import type { FabricLedger } from './fabric-ledger.ts';
import { openTestFabric, type TestFabric } from './testing/open-test-fabric.ts';

interface TestSpan extends Span {
  readonly path: string;
  readonly kind: string;
  failure?: string | undefined;
  ends: number;
}

let test: TestFabric;
let ledger: FabricLedger;
const spans: TestSpan[] = [];
/** Like the host's tracing: nothing is traced outside a span. */
const answer = (message: unknown): void => {
  const asked = message as SpanMessage;
  if (asked.parent === undefined && asked.start.beginsTrace !== true) return;
  const above = asked.parent as TestSpan | undefined;
  const span: TestSpan = {
    traceId: '',
    traceparent: '',
    tracestate: undefined,
    isSampled: true,
    ends: 0,
    path: above === undefined ? asked.start.name : `${above.path} > ${asked.start.name}`,
    kind: asked.start.kind ?? 'internal',
    set: () => undefined,
    end(failure) {
      span.ends += 1;
      span.failure = failure;
    },
  };
  spans.push(span);
  asked.span = span;
};

beforeAll(async () => {
  test = await openTestFabric();
  ({ ledger } = test.openLedger());
  subscribe(spanChannel.name, answer);
}, 60_000);
afterAll(async () => {
  unsubscribe(spanChannel.name, answer);
  await test.close();
});

async function traced(work: () => Promise<unknown>): Promise<TestSpan[]> {
  spans.length = 0;
  await withSpan(startSpan({ name: 'request', beginsTrace: true }), work);
  return [...spans];
}

const unit = (id: string) => ({
  network: 'acme',
  channel: 'acme.main',
  note: '{}',
  claim: { claim: randomBytes(32), fingerprint: 's1:a', acceptable: ['s1:a'] },
  records: [{ id, type: 'asset', owner: null, data: '{"secret":1}', extra: null }],
});

it('a write has a span for each phase, below the append', async () => {
  const found = await traced(() => ledger.append(unit('a')));
  const phases = found.filter(({ path }) => !/ > [A-Z]+/.test(path)).map(({ path, kind }) => [path, kind]);
  const append = 'request > ledger append';
  expect(phases).toEqual([
    ['request', 'internal'],
    [append, 'internal'],
    [`${append} > fabric endorse`, 'client'],
    [`${append} > fabric journal`, 'internal'],
    [`${append} > fabric submit`, 'client'],
    [`${append} > fabric commit`, 'internal'],
  ]);
  // The journal's rows are written below it.
  expect(found.some(({ path }) => path.startsWith(`${append} > fabric journal > `))).toBe(true);
  // What is known by the block is noted in the journal after the answer.
  await until(() => found.every(({ path, ends }) => path === 'request' || ends === 1), {
    what: 'every span to end once',
  });
  expect(activeSpan()).toBeUndefined();
});

it('a refusal fails the span of its phase', async () => {
  test.peer.faults.judge({ commit: 10 });
  await traced(() => expect(ledger.append(unit('b'))).rejects.toThrow());
  test.peer.faults.clear();
  expect(spans.find(({ path }) => path === 'request > ledger append')?.failure).toBeDefined();
});
