import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { createLog, Metrics } from '@sealgate/observability';
import { timelineMemory, type TimelineMemory } from '@sealgate/storage';
import { describeWithRedis, redisRules, redisSite, until, type RedisForm, type RedisSite } from '@sealgate/testing';
import { openSharedLimits } from './open-shared-limits.ts';

const USER = 'ingest-gateway';
const DATABASE = '7123456789012345678.16384';
const policy = { name: 'key', ratePerSecond: 1000, burst: 1000 } as const;

/** What a surface opens: limits and the memory of timelines, with the log of both. */
function openAs(url: string) {
  const stream = new PassThrough();
  let logText = '';
  stream.on('data', (chunk: Buffer) => (logText += chunk.toString('utf8')));
  const log = createLog({ service: 'test', level: 'info', stream, now: Date.now });
  const metrics = new Metrics('test', { processMetrics: false });
  const opened = openSharedLimits({ url, name: USER, prefix: 'ingest:', replicas: 1, now: Date.now, log, metrics });
  const timelines: TimelineMemory = timelineMemory({
    redis: opened.redis,
    report: (event) => log.warn(event.event, event.event === 'unreadable' ? { reason: event.reason } : {}),
  });
  timelines.see(DATABASE, { accepted: 0, timeline: 1 });
  return {
    limits: opened.limits,
    problem: () => opened.redisProblem() ?? timelines.refusal,
    reports: async (wanted: RegExp) => {
      const isTold = async () => {
        await Promise.all([opened.limits.charge([{ bucket: 'b', policy }], 1), timelines.ask(DATABASE)]);
        const problem = opened.redisProblem() ?? timelines.refusal ?? '';
        return wanted.test(problem) && (problem === '' || wanted.test(logText));
      };
      await until(isTold, { timeoutMs: 20_000, what: String(wanted) });
    },
    close: async () => {
      timelines.close();
      await opened.close();
    },
  };
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const open = (url: string) => {
  const opened = openAs(url);
  closing.push(() => opened.close());
  return opened;
};

/** How each form tells what is missing, by the right or password that was taken away. */
type Missing = readonly (readonly [what: string, rule: string, told: RegExp])[];
const ofAll: Missing = [
  ['the first call of the script', '-evalsha', /the user of REDIS_URL may not run evalsha/],
  ['a call of it after a restart', '-eval', /the user of REDIS_URL may not run eval/],
  ['TIME', '-time', /may not run (time|a command of our scripts)/],
  ['MGET', '-mget', /may not run (mget|a command of our scripts)/],
  ['SET', '-set', /may not run (set|a command of our scripts)/],
  ['GET', '-get', /may not run (get|a command of our scripts)/],
  ['PTTL', '-pttl', /may not run (pttl|a command of our scripts)/],
  ['the keys of limits', 'resetkeys ~sealgate:timeline:*', /may not use a key that is needed here/],
  ['the keys of timelines', 'resetkeys ~ingest:*', /may not use a key that is needed here/],
  ['the password', 'resetpass >other', /Redis refuses the password, or the user, of REDIS_URL/],
  ['the user', 'off', /Redis refuses the password, or the user, of REDIS_URL/],
];
const ofServers: Readonly<Record<RedisForm, Missing>> = {
  single: ofAll,
  sentinel: [['INFO', '-info', /the user of REDIS_URL may not run info/], ofAll.at(-1)!],
  cluster: [['CLUSTER SLOTS', '-cluster|slots', /the user of REDIS_URL may not run cluster\|slots/], ...ofAll],
};
const ofSentinels: Missing = [
  ['the password', 'resetpass >other', /the sentinels refuse the password, or the user/],
  [
    'the question for the primary',
    '-sentinel|get-master-addr-by-name',
    /may not run sentinel\|get-master-addr-by-name/,
  ],
  ['the question for sentinels', '-sentinel|sentinels', /the user for the sentinels may not run sentinel\|sentinels/],
  ['SUBSCRIBE', '-subscribe', /the user for the sentinels may not run subscribe/],
  ['the channel', 'resetchannels', /the user for the sentinels may not listen to a channel/],
];

for (const form of ['single', 'sentinel', 'cluster'] as const)
  describeWithRedis(`Redis as ${form}, with a user of the page`, () => {
    let site: RedisSite;
    const { servers, sentinels } = redisRules(form);
    const [own] = servers.filter((rule) => rule.startsWith(`${USER} `)) as [string];
    const url = (parameters: Readonly<Record<string, string | undefined>> = {}) =>
      site.url(USER, { caFile: site.caFile, ...parameters });
    beforeAll(async () => {
      site = await redisSite(form, { servers, sentinels });
    }, 120_000);
    afterAll(() => site.stop());

    it('shares limits and timelines, and is refused nothing', async () => {
      const { limits, problem } = open(url());
      await until(() => limits.state === 'shared', { timeoutMs: 20_000, what: 'shared limits' });
      await until(() => problem() === undefined, { what: 'no problem' });
      expect(await site.refusals()).toEqual([]);
    });

    it.each(ofServers[form])('names what is missing: %s', async (_what, rule, told) => {
      await Promise.all(site.servers.map(({ admin }) => admin.script('FLUSH')));
      await site.setUser(`${USER} ${rule}`);
      try {
        await open(url()).reports(told);
      } finally {
        await site.setUser(own);
      }
    });

    if (form === 'single')
      it('names what is missing: PEXPIRE, which only an old entry needs', async () => {
        await open(url()).reports(/^$/);
        await site.servers[0]!.admin.pexpire(`sealgate:timeline:${DATABASE}`, 60_000);
        await site.setUser(`${USER} -pexpire`);
        try {
          await open(url()).reports(/may not run (pexpire|a command of our scripts)/);
        } finally {
          await site.setUser(own);
        }
      });

    if (form === 'sentinel')
      it.each(ofSentinels)('names what the sentinels refuse: %s', async (_what, rule, told) => {
        await site.setUser(`${sentinels[0]!.split(' ')[0]!} ${rule}`, 'sentinels');
        try {
          await open(url()).reports(told);
        } finally {
          await site.setUser(sentinels[0]!, 'sentinels');
        }
      });

    it.each([
      ['an authority that is not trusted', { caFile: undefined }, /by an authority that is not trusted here/],
      ['no client certificate', { certFile: undefined, keyFile: undefined }, /Redis wants a client certificate/],
    ])('names a fault of TLS: %s', async (_what, parameters, told) => {
      await open(url(parameters)).reports(told);
    });

    if (form === 'sentinel')
      it('names a primary that no sentinel knows', () =>
        open(url().replace('/main/', '/other/')).reports(/no sentinel knows a primary of the name/));
  });
