import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { caseGate, ingestGateway, ledgerPeer, NoAnswerError, riskPartner, type RetryPolicy } from './index.ts';

interface Seen {
  readonly method: string;
  readonly key: string | undefined;
  readonly body: string;
}

const open: (() => void)[] = [];
afterEach(() => open.splice(0).forEach((close) => close()));

/** A server with these answers in turn, repeating the last; `dropped` closes the connection instead. */
async function answering(...answers: ((response: ServerResponse) => void)[]): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      seen.push({ method: request.method ?? '', key: request.headers['idempotency-key'] as string | undefined, body });
      answers[Math.min(seen.length, answers.length) - 1]!(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const dropped = (response: ServerResponse): void => void response.socket?.destroy();

const status =
  (
    code: number,
    headers: Record<string, string> = {},
    body: object = { type: 'about:blank', title: 'no', status: code },
  ) =>
  (response: ServerResponse): void =>
    void response
      .writeHead(code, { 'content-type': 'application/json', connection: 'close', ...headers })
      .end(JSON.stringify(body));

/** A clock that advances with each wait, and a random number that is always one half. */
function injected(): { policy: RetryPolicy; waits: number[] } {
  const waits: number[] = [];
  let at = 0;
  const sleep = (waitMs: number): Promise<void> => {
    waits.push(waitMs);
    at += waitMs;
    return Promise.resolve();
  };
  return { policy: { now: () => at, random: () => 0.5, sleep }, waits };
}

const write = (url: string, retry: RetryPolicy, key?: string) =>
  ingestGateway({ baseUrl: url, retry }).POST('/{networkId}', {
    params: { path: { networkId: 'demo' }, ...(key !== undefined && { header: { 'Idempotency-Key': key } }) },
    body: { type: 'order', data: { n: 1 } },
  });

describe('a write whose answer is lost', () => {
  it('is retried with the generated key and the same body', async () => {
    const { url, seen } = await answering(dropped, dropped, status(200, {}, { ok: true }));
    const { policy, waits } = injected();
    const { response } = await write(url, policy);
    expect(response.status).toBe(200);
    expect(seen).toHaveLength(3);
    expect(seen[0]!.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen).toEqual(Array(3).fill({ method: 'POST', key: seen[0]!.key, body: '{"type":"order","data":{"n":1}}' }));
    // Half of 200 and of 400: random is always one half here.
    expect(waits).toEqual([100, 200]);
  });

  it('keeps the key that the caller gave', async () => {
    const { url, seen } = await answering(dropped, status(200, {}, { ok: true }));
    await write(url, injected().policy, 'mine');
    expect(seen.map(({ key }) => key)).toEqual(['mine', 'mine']);
  });

  it('is unknown after the last attempt, and the error has the key to retry with', async () => {
    const { url, seen } = await answering(dropped);
    const error = await write(url, { ...injected().policy, attempts: 3 }, 'mine').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NoAnswerError);
    expect(error).toMatchObject({
      attempts: 3,
      idempotencyKey: 'mine',
      message: 'No answer to POST /demo after 3 attempt(s).',
    });
    expect(seen).toHaveLength(3);
  });

  it('is retried while its outcome is unknown or a request with its key is in progress', async () => {
    const { url, seen } = await answering(
      status(503, { 'retry-after': '2' }, { type: 'urn', title: 'Unknown', status: 503, code: 'OUTCOME_UNKNOWN' }),
      status(409, { 'retry-after': '1' }, { type: 'urn', title: 'Wait', status: 409, code: 'IDEMPOTENCY_IN_PROGRESS' }),
      status(200, {}, { ok: true }),
    );
    const { policy, waits } = injected();
    expect((await write(url, policy)).response.status).toBe(200);
    expect(waits).toEqual([2_000, 1_000]);
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1);
  });
});

describe('not retried', () => {
  it.each([400, 401, 403, 404, 409, 412, 422, 500])('is a refusal with %d', async (code) => {
    const { url, seen } = await answering(status(code));
    expect((await write(url, injected().policy)).response.status).toBe(code);
    expect(seen).toHaveLength(1);
  });

  it('is a change without a key, whose first attempt may have had an effect', async () => {
    const { url, seen } = await answering(dropped);
    const call = riskPartner({ baseUrl: url, retry: injected().policy }).POST('/api/api-keys', {
      body: { name: 'ci' } as never,
    });
    await expect(call).rejects.toThrow(NoAnswerError);
    expect(seen).toHaveLength(1);
    expect(seen[0]!.key).toBeUndefined();
  });

  it('is anything with retry: false', async () => {
    const { url, seen } = await answering(dropped);
    await expect(riskPartner({ baseUrl: url, retry: false }).GET('/api/risks')).rejects.toThrow('fetch failed');
    expect(seen).toHaveLength(1);
  });
});

describe('a temporary refusal', () => {
  it('waits for Retry-After, also for a change without a key: nothing was processed', async () => {
    const { url, seen } = await answering(status(429, { 'retry-after': '7' }), status(201, {}, { ok: true }));
    const { policy, waits } = injected();
    const { response } = await riskPartner({ baseUrl: url, retry: policy }).POST('/api/api-keys', {
      body: { name: 'ci' } as never,
    });
    expect(response.status).toBe(201);
    expect(waits).toEqual([7_000]);
    expect(seen).toHaveLength(2);
  });

  it("may have a date, relative to the server's clock", async () => {
    const date = { date: 'Wed, 21 Oct 2026 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2026 07:28:09 GMT' };
    const { url } = await answering(status(503, date), status(200, {}, []));
    const { policy, waits } = injected();
    await riskPartner({ baseUrl: url, retry: policy }).GET('/api/risks');
    expect(waits).toEqual([9_000]);
  });

  it('is returned if waiting would exceed the timeout of the call', async () => {
    const { url, seen } = await answering(status(429, { 'retry-after': '91' }));
    const { data, error, response } = await riskPartner({ baseUrl: url, retry: injected().policy }).GET('/api/risks');
    expect({ data, error, status: response.status, sent: seen.length }).toEqual({
      data: undefined,
      error: { type: 'about:blank', title: 'no', status: 429 },
      status: 429,
      sent: 1,
    });
  });

  it('is returned after the last attempt', async () => {
    const { url, seen } = await answering(status(502));
    const { response } = await riskPartner({ baseUrl: url, retry: { ...injected().policy, attempts: 2 } }).GET(
      '/api/risks',
    );
    expect({ status: response.status, sent: seen.length }).toEqual({ status: 502, sent: 2 });
  });
});

describe('an attempt', () => {
  it('that hangs is aborted, and the next one may succeed', async () => {
    const { url, seen } = await answering(() => undefined, status(200, {}, []));
    const { response } = await riskPartner({ baseUrl: url, retry: { ...injected().policy, attemptMs: 50 } }).GET(
      '/api/risks',
    );
    expect({ status: response.status, sent: seen.length }).toEqual({ status: 200, sent: 2 });
  });

  it("ends with the signal's reason when the caller aborts, without a retry", async () => {
    const giveUp = new AbortController();
    const { url, seen } = await answering(() => giveUp.abort(new Error('enough')));
    const call = riskPartner({ baseUrl: url, retry: injected().policy }).GET('/api/risks', { signal: giveUp.signal });
    await expect(call).rejects.toThrow('enough');
    expect(seen).toHaveLength(1);
  });

  it('is not made when the caller aborts during the wait', async () => {
    const giveUp = new AbortController();
    const { url, seen } = await answering(status(429, { 'retry-after': '60' }));
    const call = riskPartner({ baseUrl: url }).GET('/api/risks', { signal: giveUp.signal });
    setImmediate(function untilSeen() {
      if (seen.length === 0) setImmediate(untilSeen);
      else giveUp.abort(new Error('enough'));
    });
    await expect(call).rejects.toThrow('enough');
  });
});

describe('a repeatable request', () => {
  it.each([
    [
      'a query in a body',
      (url: string, retry: RetryPolicy) =>
        ledgerPeer({ baseUrl: url, retry }).POST('/api/assets/query', { body: {} as never }),
    ],
    [
      'a decision of a case',
      (url: string, retry: RetryPolicy) =>
        caseGate({ baseUrl: url, retry }).POST('/v1/cases/{case_id}/decide', {
          params: { path: { case_id: 'case_1' } },
          body: { policy_version: 'v1' },
        }),
    ],
  ])('is retried without a key: %s', async (_, call) => {
    const { url, seen } = await answering(dropped, status(200, {}, {}));
    await call(url, injected().policy);
    expect(seen.map(({ key }) => key)).toEqual([undefined, undefined]);
  });

  it('is not a gate check, whose answer is only valid now', async () => {
    const { url, seen } = await answering(dropped);
    const call = caseGate({ baseUrl: url, retry: injected().policy }).POST('/v1/gate/check', {
      body: { subject_ref: 'subj_1', venue_id: 'door' },
    });
    await expect(call).rejects.toThrow(NoAnswerError);
    expect(seen).toHaveLength(1);
  });
});
