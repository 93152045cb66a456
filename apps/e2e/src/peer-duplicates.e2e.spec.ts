import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { peerSetup, type PeerSetup, type SyncSummary } from './harness/peer-setup.ts';

describe('Two processes that receive the same ids concurrently', () => {
  let setup: PeerSetup;
  beforeAll(async () => {
    setup = await peerSetup({ peers: 2 });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it('let one content of each id win; all other requests get its receipt, or a conflict', async () => {
    const contents = ['one', 'other'];
    const requests = Array.from({ length: 1000 }, (_, at) => ({
      id: `wanted-${at % 10}`,
      content: contents[Math.floor(at / 10) % 2]!,
      peer: setup.peers[Math.floor(at / 20) % 2]!,
    }));
    const answers = await Promise.all(
      requests.map(async ({ id, content, peer }) => {
        const body = { assets: [{ id, type: 'asset', data: { content } }] };
        return { id, content, answer: await setup.ask('POST', '/api/assets', { peer, body, timeoutMs: 60_000 }) };
      }),
    );
    expect(answers.filter(({ answer }) => answer.status !== 200)).toEqual([]);
    const summary = (answer: HttpAnswer) => answer.body as SyncSummary;
    for (const [id, of] of Map.groupBy(answers, (one) => one.id)) {
      const won = of.filter(({ answer }) => summary(answer).succeeded.length === 1);
      const lost = of.filter(({ answer }) => summary(answer).failed.length === 1);
      expect(won.length + lost.length).toBe(of.length);
      expect(new Set(won.map(({ content }) => content)).size).toBe(1);
      expect(new Set(won.map(({ answer }) => summary(answer).transactionIds.join())).size).toBe(1);
      expect(new Set(won.map(({ answer }) => summary(answer).transactions[0]?.blockNumber)).size).toBe(1);
      expect(won).toHaveLength(50);
      expect(lost.every(({ answer }) => summary(answer).failed[0]?.code === 'RECORD_CONFLICT')).toBe(true);
      const { body } = await setup.ask('GET', `/api/assets/${id}`);
      expect(body).toMatchObject({ data: { content: won[0]?.content } });
    }
    const rows = (await setup.admin.ask('GET', '/ledger/channels'))['items'];
    expect(rows).toContainEqual(expect.objectContaining({ channel: 'acme.main', size: 10 }));
  }, 120_000);

  it(
    'answer one Idempotency-Key once, across processes',
    async () => {
      const body = { assets: [{ id: 'keyed', type: 'asset', data: {} }] };
      const headers = { 'Idempotency-Key': 'keyed' };
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, at) =>
          setup.ask('POST', '/api/assets', { peer: setup.peers[at % 2]!, body, headers }),
        ),
      );
      const done = answers.filter(({ status }) => status === 200);
      expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
      expect(new Set(done.map(({ text }) => text)).size).toBe(1);
      expect(done.filter(({ headers: its }) => its['idempotent-replayed'] === undefined)).toHaveLength(1);
    },
    setupTimeoutMs,
  );
});
