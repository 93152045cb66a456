import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { membersOf } from './harness/admin-client.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { freshTag, type FabricNetwork } from './harness/fabric-network.ts';
import type { KeptRecord } from './harness/fabric-reader.ts';
import { connectionOf, gaugeOf } from './harness/fabric-stage.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { outOfReach } from './harness/installation.ts';
import { boundMs } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';
import { deliveredBy, newSecret, newSource, sendGithub } from './harness/webhook-sender.ts';

const storyTimeoutMs = 120_000;
/** The deadline of an answer in the connection file, and a margin. */
const answeredWithinMs = boundMs(6_000);

interface FabricAnswer {
  readonly transactionIds: readonly string[];
  readonly eventId: string;
  readonly records: readonly { readonly id: string; readonly transactionId: string; readonly channel: string }[];
}

/** The webhook gateway on a Fabric network, configured by two variables only. */
export function gatewayStories(networkOf: () => FabricNetwork): void {
  const tag = freshTag();
  let folder = '';
  let setup: ContractSetup;
  let sends: Sender;
  const id = (name: string): string => `${tag}-${name}`;
  const kept = (): Promise<ReadonlyMap<string, KeptRecord>> =>
    networkOf().reader.list(networkOf().mainChannel, `${tag}.main/`);
  const written = ({ status, text, body }: HttpAnswer): FabricAnswer => {
    expect({ status, text }).toMatchObject({ status: 200 });
    return body as FabricAnswer;
  };
  const eventOf = (eventId: string) => setup.admin.ask('GET', `/events/${eventId}`);

  describe('behind the webhook gateway', () => {
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-fabric-'));
      const fabricConfig = join(folder, 'fabric.json');
      writeFileSync(fabricConfig, JSON.stringify(connectionOf(networkOf(), tag)));
      const env = { LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: fabricConfig, LEDGER_INTEGRATOR: 'false' };
      setup = await contractSetup({ env });
      await setup.admin.ask('POST', '/networks', { networkId: tag, channels: ['main', 'other'], limits: outOfReach });
      const { rawKey } = await setup.newKey(tag);
      sends = sender(setup.gateway.public, tag, rawKey);
    }, setupTimeoutMs);
    afterAll(async () => {
      await setup?.stop();
      rmSync(folder, { recursive: true, force: true });
    }, setupTimeoutMs);

    it(
      'writes a signed delivery once, and reports another one under its id as a conflict',
      async () => {
        const secret = newSecret();
        const source = await newSource(setup.admin, tag, { secret, idFrom: '/n' });
        const send = (n: string, deliveryId: string) =>
          sendGithub(setup.gateway.public, source.path, { secret, deliveryId, body: JSON.stringify({ n: id(n) }) });
        const first = deliveredBy(await send('delivered', 'd-1'));
        expect(deliveredBy(await send('delivered', 'd-1'), true)).toEqual(first);
        expect(deliveredBy(await send('another', 'd-1')).records).toEqual([]);
        const records = await kept();
        expect([id('delivered'), id('another')].map((one) => records.has(`${tag}.main/${one}`))).toEqual([true, false]);
        await setup.admin.ask('DELETE', source.adminPath);
        expectProblem(await send('late', 'd-2'), 'NOT_FOUND');
      },
      storyTimeoutMs,
    );

    it(
      'writes a record and a batch, keeps their events, and recognises existing records',
      async () => {
        const body = { id: id('one'), type: 'order', owner: 'me', data: { n: 1, password: 'x' } };
        const one = written(await sends.post(body));
        expect(one).toEqual({
          transactionIds: [expect.stringMatching(/^[0-9a-f]{64}$/)],
          summary: { total: 1, succeeded: 1, failed: 0 },
          eventId: expect.stringMatching(/^evt_/),
          records: [{ id: id('one'), transactionId: one.transactionIds[0], channel: `${tag}.main` }],
          strippedFields: 1,
        });
        expect((await kept()).get(`${tag}.main/${id('one')}`)).toMatchObject({
          type: `${tag}.main/order`,
          owner: 'me',
          data: { n: 1 },
          transactionId: one.transactionIds[0],
        });
        await until(async () => (await eventOf(one.eventId))['status'] === 'committed');
        expect((await eventOf(one.eventId))['records']).toEqual(one.records);
        expect(written(await sends.post(body)).records).toEqual([{ ...one.records[0], existing: true }]);
        expectProblem(await sends.post({ ...body, data: { n: 2 } }), 'RECORD_CONFLICT');
        const assets = Array.from({ length: 100 }, (_, n) => ({ id: id(`batch-${n}`), n }));
        const batch = written(await sends.post({ assets }));
        expect(batch.records.map((record) => record.id)).toEqual(assets.map((asset) => asset.id));
        expect(batch.transactionIds).toHaveLength(1);
      },
      storyTimeoutMs,
    );

    it(
      'writes one request into two channels, under one event',
      async () => {
        const body = { id: id('both'), targetChannels: ['main', 'other'], n: 1 };
        const answer = written(await sends.post(body, { idempotencyKey: 'both' }));
        expect(answer.records.map(({ channel }) => channel)).toEqual([`${tag}.main`, `${tag}.other`]);
        const { reader, otherChannel } = networkOf();
        expect((await reader.list(otherChannel, id('both'))).get(id('both'))?.transactionId).toBe(
          answer.transactionIds[1],
        );
        await until(async () => (await eventOf(answer.eventId))['status'] === 'committed');
        expect((await eventOf(answer.eventId))['records']).toEqual(answer.records);
      },
      storyTimeoutMs,
    );

    it(
      'gives the same answer to the same request after it was killed while processing it',
      async () => {
        const { orderer } = networkOf();
        const first = await sends.post({ n: 'first' }, { idempotencyKey: 'first' });
        await orderer.freeze();
        const cut = sends.post({ n: 'cut' }, { idempotencyKey: 'cut' }).catch(() => undefined);
        await until(async () => (await gaugeOf(setup.gateway, 'ledger_unsettled_transactions')) === 1, {
          timeoutMs: 10_000,
          what: 'a transaction that was sent',
        });
        await setup.gateway.kill();
        expect(await cut).toBeUndefined();
        await orderer.thaw();
        await setup.gateway.start();
        const again = await sends.post({ n: 'first' }, { idempotencyKey: 'first' });
        expect(again).toMatchObject({ status: 200, text: first.text, headers: { 'idempotent-replayed': 'true' } });
        expectProblem(await sends.post({ n: 'other' }, { idempotencyKey: 'first' }), 'IDEMPOTENCY_KEY_REUSED');
        let answer: HttpAnswer | undefined;
        await until(
          async () => {
            answer = await sends.post({ n: 'cut' }, { idempotencyKey: 'cut' });
            return answer.status === 200;
          },
          { timeoutMs: 40_000, what: 'the answer to what was cut off' },
        );
        const { records, eventId } = written(answer!);
        const found = [...(await kept()).values()].filter(({ data }) => membersOf(data)['n'] === 'cut');
        expect(found.map(({ transactionId }) => transactionId)).toEqual([records[0]?.transactionId]);
        await until(async () => (await eventOf(eventId))['status'] === 'committed');
      },
      storyTimeoutMs,
    );

    it(
      'answers unknown for what it sent while the orderer is down, and settles it by itself',
      async () => {
        const { orderer } = networkOf();
        await orderer.kill();
        const body = { id: id('unknown'), n: 1 };
        const answer = await sends.post(body, { idempotencyKey: 'unknown', timeoutMs: 60_000 });
        const { eventId, transactionIds } = membersOf(answer.body);
        expectProblem(answer, 'OUTCOME_UNKNOWN', { members: { eventId, transactionIds } });
        expect(transactionIds).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
        expect(answer.durationMs).toBeLessThan(answeredWithinMs);
        await orderer.start();
        await until(async () => (await kept()).has(`${tag}.main/${id('unknown')}`), { timeoutMs: 30_000 });
        await until(async () => (await setup.admin.get(`/events/${String(eventId)}`)).status === 200);
        expect(await eventOf(String(eventId))).toMatchObject({ status: 'committed', transactionIds });
        const settled = written(await sends.post(body, { idempotencyKey: 'unknown' }));
        expect({ eventId: settled.eventId, transactionIds: settled.transactionIds }).toEqual({
          eventId,
          transactionIds,
        });
      },
      storyTimeoutMs,
    );

    it(
      'is unavailable and says why while no peer answers, and keeps running',
      async () => {
        const { peer } = networkOf();
        await peer.kill();
        const answer = await sends.post({ id: id('away') }, { timeoutMs: 60_000 });
        expectProblem(answer, 'LEDGER_UNAVAILABLE');
        expect(answer.durationMs).toBeLessThan(answeredWithinMs);
        expect((await setup.gateway.ops.send({ path: '/health/live' })).status).toBe(200);
        const ready = await setup.gateway.ops.send({ path: '/health/ready' });
        const problem = expect.stringMatching(/no gateway peer answers|nobody listens at the port of the peer/);
        expect(ready).toMatchObject({ status: 503, body: { problem, contracts: [{ ok: false }, { ok: false }] } });
        await peer.start();
        await until(async () => (await sends.post({ id: id('back') })).status === 200, { timeoutMs: 30_000 });
        expect((await kept()).has(`${tag}.main/${id('away')}`)).toBe(false);
      },
      storyTimeoutMs,
    );
  });
}
