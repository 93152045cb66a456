import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { expectCommonHeaders, expectWritten, limitsOf } from './harness/answers.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { sender, type Sending } from './harness/sender.ts';

/** Everything that can be wrong with one request, in the contract's order of refusal. */
const faults = [
  ['path', 'NOT_FOUND'],
  ['method', 'METHOD_NOT_ALLOWED'],
  ['key', 'UNAUTHENTICATED'],
  ['network', 'FORBIDDEN'],
  ['no permission at all', 'FORBIDDEN'],
  ['media type', 'UNSUPPORTED_MEDIA_TYPE'],
  ['size', 'PAYLOAD_TOO_LARGE'],
  ['strict JSON', 'DUPLICATE_MEMBER'],
  ['shape', 'INVALID_REQUEST'],
  ['permission to write', 'FORBIDDEN'],
  ['asset type', 'ASSET_TYPE_NOT_ALLOWED'],
  ['channel', 'UNKNOWN_CHANNEL'],
  ['idempotency key', 'INVALID_IDEMPOTENCY_KEY'],
  ['limits', 'RATE_LIMITED'],
  ['reused idempotency key', 'IDEMPOTENCY_KEY_REUSED'],
  ['conflict', 'RECORD_CONFLICT'],
] as const;

type Fault = (typeof faults)[number][0];

/** A request with this fault and with every later one. */
const steps = faults.map(([first, code], index) => ({
  first,
  code,
  wrong: new Set<Fault>(faults.slice(index).map(([fault]) => fault)),
}));

const batch = 100;
const taken = 'taken';
const used = 'used-before';

function grantsFor(wrong: ReadonlySet<Fault>): Readonly<Record<string, unknown>> {
  return {
    ...(wrong.has('permission to write') ? { permissions: ['ingest:ping'] } : {}),
    ...(wrong.has('no permission at all') ? { permissions: [] } : {}),
    ...(wrong.has('asset type') ? { allowedAssetTypes: ['allowed'] } : {}),
  };
}

function bodyOf(wrong: ReadonlySet<Fault>): string {
  const members = [
    ...(wrong.has('strict JSON') ? ['"twice":1', '"twice":2'] : []),
    wrong.has('shape') ? '"owner":7' : '"owner":"them"',
    wrong.has('asset type') ? '"type":"forbidden"' : '"type":"allowed"',
    wrong.has('channel') ? '"targetChannels":["nowhere"]' : '"targetChannels":["main"]',
    ...(wrong.has('conflict') ? [`"id":"${taken}"`] : []),
    ...(wrong.has('size') ? [`"pad":"${'x'.repeat(1_048_577)}"`] : []),
  ];
  const record = `{${members.join(',')}}`;
  if (!wrong.has('limits')) return record;
  return `{"assets":[${[record, ...Array.from({ length: batch - 1 }, () => '{"type":"allowed"}')].join(',')}]}`;
}

describe('A request with several faults is refused for the one that comes first', () => {
  let setup: ContractSetup;
  let roomyNetwork: string;
  beforeAll(async () => {
    setup = await sharedSetup();
    roomyNetwork = await setup.newNetwork();
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  interface Sender {
    readonly networkId: string;
    readonly rawKey: string;
  }

  /** A key of its own for each request, with the grants and the preparation that the faults need. */
  async function senderFor(wrong: ReadonlySet<Fault>): Promise<Sender> {
    const isLimited = wrong.has('limits');
    const limits = { ratePerSecond: 1, burst: batch };
    const networkId = isLimited ? await setup.newNetwork({ limits }) : roomyNetwork;
    const first = await setup.newKey(networkId);
    const fillers = Array.from({ length: isLimited ? batch - 1 : 0 }, () => ({}));
    const before = sender(setup.gateway.public, networkId, first.rawKey);
    const assets = [{ id: taken, data: { first: true } }, ...fillers];
    expectWritten(await before.post({ assets }, { idempotencyKey: used }));
    if (wrong.has('key')) return { networkId, rawKey: `ingest_${'A'.repeat(43)}` };
    // Of the same family, so that the Idempotency-Key is used for it too.
    const second = await setup.newKey(networkId, { replaces: first.id, ...grantsFor(wrong) });
    return { networkId, rawKey: second.rawKey };
  }

  async function send(wrong: ReadonlySet<Fault>, requestId: string): Promise<HttpAnswer> {
    const { networkId, rawKey } = await senderFor(wrong);
    const network = wrong.has('network') ? 'another-network' : networkId;
    const how: Sending = {
      headers: {
        'X-Request-Id': requestId,
        ...(wrong.has('media type') ? { 'Content-Type': 'text/plain' } : {}),
      },
      ...(wrong.has('reused idempotency key') ? { idempotencyKey: used } : {}),
      ...(wrong.has('idempotency key') ? { idempotencyKey: 'with a space' } : {}),
    };
    const http = {
      ...setup.gateway.public,
      send: (request: Parameters<typeof setup.gateway.public.send>[0]) =>
        setup.gateway.public.send({
          ...request,
          method: wrong.has('method') ? 'PUT' : 'POST',
          path: wrong.has('path') ? `${request.path}/more` : request.path,
        }),
    };
    return sender(http, network, rawKey).post(bodyOf(wrong), how);
  }

  it.each(steps)('$first, whatever is wrong after it: $code', async ({ first, code, wrong }) => {
    const answer = await send(wrong, 'many-faults');
    expectProblem(answer, code);
    expectCommonHeaders(answer);
    expect(answer.headers['x-request-id']).toBe('many-faults');
    expect(answer.headers['cache-control']).toBe('no-store');
    if (first === 'method') expect(answer.headers['allow']).toBe('POST');
    const isKnown = !['path', 'method', 'key'].includes(first);
    if (isKnown) limitsOf(answer);
    else expect(answer.headers['ratelimit']).toBeUndefined();
  });

  it('nothing wrong: it is written', async () => {
    expectWritten(await send(new Set<Fault>(), 'no-fault'));
  });
});
