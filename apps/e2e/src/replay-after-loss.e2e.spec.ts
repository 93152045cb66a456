import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, expectProblem } from '@sealgate/testing';
import { ledgerSize } from './harness/admin-client.ts';
import { expectWritten } from './harness/answers.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { breakableServers, install, type Installation, type Servers } from './harness/installation.ts';
import { redisCommand } from './harness/redis-control.ts';
import { sender, type Sender } from './harness/sender.ts';

describeWithRedis('The same batch repeated after everything but the database was lost', () => {
  let servers: Servers;
  let installation: Installation;
  let networkId: string;
  let from: Sender;
  beforeAll(async () => {
    servers = await breakableServers();
    installation = await install(servers);
    networkId = await installation.newNetwork({ channels: ['main', 'other'] });
    from = sender(installation.gateway.public, networkId, (await installation.newKey(networkId)).rawKey);
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await servers.stop();
  }, setupTimeoutMs);

  async function loseEverythingElse(): Promise<void> {
    await redisCommand(servers.redis.url, 'FLUSHALL');
    await installation.gateway.kill();
    process.kill(servers.postgres.pid, 'SIGKILL');
    await servers.postgres.restart();
    await installation.gateway.start();
  }

  it.each([
    ['records that the gateway names', { assets: [{ a: 1 }, [2], { b: 'x', password: 'y' }] }],
    ['records with ids', { assets: [{ id: 'one', a: 1 }, { id: 'two' }] }],
    ['several channels', { assets: [{ targetChannels: ['other', 'main'] }, { targetChannels: ['main'] }, {}] }],
    ['records of which one existed before', { assets: [{ id: 'one', a: 1 }, { id: 'three' }] }],
    ['records that all existed before', { assets: [{ id: 'one', a: 1 }] }],
    ['a hundred records', { assets: Array.from({ length: 100 }, (_, n) => ({ n, text: 'x'.repeat(500) })) }],
    ['bare JSON', [1, 'two', null]],
  ])(
    'has the same answer, byte for byte: %s',
    async (what, body) => {
      const how = { idempotencyKey: `again-${what.replaceAll(' ', '-')}` };
      const sizes = (): Promise<number[]> =>
        Promise.all(['main', 'other'].map((name) => ledgerSize(installation.admin, `${networkId}.${name}`)));
      const first = await from.post(body, how);
      expectWritten(first);
      const before = await sizes();
      await loseEverythingElse();
      for (let copies = 0; copies < 2; copies += 1) {
        const again = await from.post(body, how);
        expect({ status: again.status, text: again.text }).toEqual({ status: 200, text: first.text });
        expect(again.headers['idempotent-replayed']).toBe('true');
        expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
      }
      expect(await sizes()).toEqual(before);
      expectProblem(await from.post([what], how), 'IDEMPOTENCY_KEY_REUSED');
    },
    setupTimeoutMs,
  );

  it('is compared by its bytes, not by their meaning', async () => {
    const how = { idempotencyKey: 'by-its-bytes' };
    expectWritten(await from.post('{"a":1}', how));
    expectProblem(await from.post('{"a": 1}', how), 'IDEMPOTENCY_KEY_REUSED');
    expectProblem(await from.post('{"a":1.0}', how), 'IDEMPOTENCY_KEY_REUSED');
  });

  it('is identified by its Idempotency-Key, bare or as a quoted string, and a malformed one is refused', async () => {
    const first = await from.post({ quoted: 1 }, { idempotencyKey: 'quoted' });
    expect((await from.post({ quoted: 1 }, { idempotencyKey: '"quoted"' })).text).toBe(first.text);
    expect((await from.post({ quoted: 1 }, { idempotencyKey: '  "quoted"\t' })).text).toBe(first.text);
    expectWritten(await from.post({}, { idempotencyKey: '!~'.repeat(127) + '!' }));
    // In a bare key a semicolon is an ordinary character.
    const other = await from.post({ quoted: 2 }, { idempotencyKey: 'quoted;x=1' });
    expect(other.text).not.toBe(first.text);
    expect((await from.post({ quoted: 2 }, { idempotencyKey: '"quoted;x=1"' })).text).toBe(other.text);
    const wrong = ['"quoted";x=1', '"quoted";x', '"quoted" ; x=1', '"quoted", "b"', '"quoted","b"', '"quoted'];
    for (const key of [...wrong, '', '""', 'a b', 'é', '!'.repeat(256), ['a', 'a'], ['a', 'b']]) {
      expectProblem(await from.post({}, { idempotencyKey: key }), 'INVALID_IDEMPOTENCY_KEY');
    }
  });
});
