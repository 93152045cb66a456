import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, redisRules, redisSite, until, type RedisSite } from '@sealgate/testing';
import { endedSessions } from './ended-sessions.ts';

const now = () => Date.now();

for (const form of ['single', 'sentinel', 'cluster'] as const)
  describeWithRedis(`sessions in Redis as ${form}, with the user of the operators' page`, () => {
    let site: RedisSite;
    const { servers, sentinels } = redisRules(form);
    const own = servers.find((rule) => rule.startsWith('console '))!;
    const lines: unknown[] = [];
    const log = { info: () => undefined, warn: (...line: unknown[]) => void lines.push(line) };
    let sessions: ReturnType<typeof endedSessions>;
    beforeAll(async () => {
      site = await redisSite(form, { servers, sentinels });
      sessions = endedSessions({ url: site.url('console', { caFile: site.caFile }), now, log });
      const answers = () =>
        sessions.find('none').then(
          () => true,
          () => false,
        );
      await until(answers, { what: 'Redis' });
    }, 120_000);
    afterAll(async () => {
      await sessions.close();
      await site.stop();
    });

    it('are shared, and nothing is refused', async () => {
      await sessions.confirm('one', now() + 60_000);
      expect(await sessions.find('one')).toBe('live');
      await sessions.end('one', now() + 60_000);
      await sessions.confirm('one', now() + 60_000);
      expect(await sessions.find('one')).toBe('ended');
      expect(sessions.problem).toBeUndefined();
      expect(await site.refusals()).toEqual([]);
      expect(lines).toEqual([]);
    });

    it.each(['get', 'set'])('that may not use %s are reported, once in the log, until they may', async (command) => {
      await site.setUser(`console -${command}`);
      const use = async () => {
        await sessions.find('two').catch(() => undefined);
        await sessions.confirm('two', now() + 60_000);
      };
      await use();
      await use();
      expect(sessions.problem).toContain(`the user of REDIS_URL may not run ${command}`);
      expect(lines.splice(0)).toEqual([['redis_refused', { reason: sessions.problem }]]);
      await site.setUser(own);
      await use();
      expect(sessions.problem).toBeUndefined();
    });
  });
