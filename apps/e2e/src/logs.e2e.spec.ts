import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { membersOf, type Members } from './harness/admin-client.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { sender } from './harness/sender.ts';

describe('The log', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await contractSetup({ env: { LOG_LEVEL: 'debug' } });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  const lines = (): Members[] =>
    setup.gateway
      .logText()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => membersOf(JSON.parse(line)));

  it('has one line for each request with any outcome, and nothing that a client sent in it', async () => {
    const secret = 'never-to-be-logged';
    const networkId = await setup.newNetwork();
    const { rawKey, id } = await setup.newKey(networkId);
    const from = sender(setup.gateway.public, `${networkId}?api_key=${rawKey}&token=${secret}`, rawKey);
    const requests: readonly [string, () => Promise<unknown>, number][] = [
      ['written', () => from.post({ id: secret, type: secret, data: { a: secret } }, named('written')), 200],
      ['conflict', () => from.post({ id: secret, b: secret }, named('conflict')), 409],
      ['ping', () => from.post({ type: 'ping', [secret]: secret }, named('ping')), 200],
      ['broken', () => from.post(`{"${secret}":`, named('broken')), 400],
      ['channel', () => from.post({ targetChannels: [secret] }, named('channel')), 422],
      ['nobody', () => sender(setup.gateway.public, networkId, `ingest_${secret}`).post({}, named('nobody')), 401],
      ['foreign', () => sender(setup.gateway.public, secret, rawKey).post({}, named('foreign')), 403],
      ['nowhere', () => sender(setup.gateway.public, `${secret}/${secret}`, rawKey).post({}, named('nowhere')), 404],
    ];
    for (const [, request] of requests) await request();
    await until(() => lines().some(({ requestId }) => requestId === 'nowhere'), { what: 'the last line' });
    for (const [name, , status] of requests) {
      const found = lines().filter(({ requestId }) => requestId === name);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({ event: 'request', level: 'info', status, durationMs: expect.any(Number) });
      if (!['nobody', 'nowhere'].includes(name)) expect(found[0]).toMatchObject({ keyId: id, networkId });
    }
    const text = setup.gateway.logText();
    for (const hidden of [secret, rawKey.slice('ingest_'.length), setup.adminToken]) expect(text).not.toContain(hidden);
    expect(lines().filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('contains the route template, never the requested address', async () => {
    const networkId = await setup.newNetwork();
    await setup.admin.get(`/networks/${networkId}`);
    await until(() => lines().some(({ route }) => route === '/admin/v1/networks/{networkId}'));
    expect(lines().filter(({ route }) => String(route).includes(networkId))).toEqual([]);
  });

  it('continues the trace of a caller', async () => {
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, 'X-Request-Id': 'traced' };
    await sender(setup.gateway.public, networkId, rawKey).post({}, { headers });
    await until(() => lines().some(({ requestId }) => requestId === 'traced'));
    expect(lines().find(({ requestId }) => requestId === 'traced')).toMatchObject({ traceId });
  });

  function named(requestId: string): { headers: { 'X-Request-Id': string } } {
    return { headers: { 'X-Request-Id': requestId } };
  }
});
