import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, redisRules, redisSite, until, type RedisSite } from '@sealgate/testing';
import { Redis } from 'ioredis';
import { openRedis, type RedisHandle } from './index.ts';

const USER = 'ingest-gateway';

for (const form of ['single', 'sentinel', 'cluster'] as const)
  describeWithRedis(`A connection to Redis as ${form}`, () => {
    let site: RedisSite;
    let handle: RedisHandle;
    beforeAll(async () => {
      site = await redisSite(form, redisRules(form));
    }, 120_000);
    afterEach(() => handle.close());
    afterAll(() => site.stop());

    it('that fails twice does not end the process, and is opened again', async () => {
      const url = site.url(USER, { caFile: site.caFile });
      handle = openRedis({ url, name: 'redis-test', connectTimeoutMs: 2_000, commandTimeoutMs: 2_000 });
      await until(() => handle.state === 'ready', { timeoutMs: 20_000, what: 'Redis' });
      const { client } = handle;
      const answers = () =>
        client.get(form === 'single' ? 'ingest:any' : 'ingest:{any}').then(
          () => true,
          () => false,
        );
      await until(answers, { what: 'an answer' });
      const nodes = client instanceof Redis ? [client] : client.nodes();
      // To the other nodes of a cluster no connection is open yet.
      const sockets = nodes.filter(({ status }) => status === 'ready').map(({ stream }) => stream);
      expect(sockets.length).toBeGreaterThan(0);
      for (const socket of sockets) {
        // Without a listener emitting an error throws it.
        socket.emit('error', new Error('broken pipe'));
        socket.emit('error', new Error('alert'));
        socket.destroy();
      }
      await until(answers, { timeoutMs: 20_000, what: 'an answer by another connection' });
    });
  });
