import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, postgresPair, type PostgresPair } from '@sealgate/testing';
import { openDatabase, timelineMemory, type TimelineEvent } from '@sealgate/storage';
import { runLine } from '../testing/run-line.ts';

let pair: PostgresPair;
beforeAll(async () => {
  pair = await postgresPair();
}, 120_000);
afterAll(() => pair.stop());

const hostOf = (url: string): string => new URL(url).host;
const lines = (text: string): string[] => text.trim().split('\n');

describe('sealgate database', () => {
  it('names every server, and needs a URL', async () => {
    expect(await runLine('database servers')).toMatchObject({
      code: 2,
      err: expect.stringContaining('MIGRATION_DATABASE_URL'),
    });
    const env = { MIGRATION_DATABASE_URL: pair.url };
    const { code, out } = await runLine('database servers', { env });
    expect(code).toBe(0);
    expect(lines(out)).toHaveLength(3);
    expect(out).toMatch(new RegExp(`${hostOf(pair.primaryUrl)} +primary +1 `));
    expect(out).toMatch(new RegExp(`${hostOf(pair.standbyUrl)} +standby +1 `));
    const gone = { MIGRATION_DATABASE_URL: 'postgresql://u:p@127.0.0.1:1/d' };
    expect(await runLine('database servers', { env: gone })).toMatchObject({ code: 4, err: '' });
  });

  it('accepts the timeline of a server that is gone back to, for all processes and against the one given up', async () => {
    await pair.failOver();
    await pair.startOld();
    const [back, givenUp] = [pair.standbyUrl, pair.primaryUrl];
    const events: TimelineEvent[] = [];
    const timelines = timelineMemory({ report: (event) => events.push(event) });
    const limits = { maxConnections: 2, connectTimeoutMs: 5_000, deadlineMs: 5_000 };
    const open = (memory = timelines) =>
      openDatabase({ url: pair.url, applicationName: 'accept-test', ...limits, timelines: memory });
    const portOf = async (database = open()): Promise<string> => {
      const [row] = await database.query<{ port: string }>({ text: `SELECT current_setting('port') AS port` });
      await database.close();
      return String(row?.port);
    };
    expect(await portOf()).toBe(new URL(givenUp).port);

    const env = { MIGRATION_DATABASE_URL: pair.url };
    const order = ['database', 'accept-timeline', '--reason', `Back to "one", it's better`];
    expect(await runLine(order, { env })).toMatchObject({ code: 2, err: expect.stringContaining('--server') });
    const chosen = [...order, '--server', hostOf(back)];
    expect(await runLine(chosen, { env })).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    expect(await portOf()).toBe(new URL(givenUp).port);
    expect(await runLine(chosen, { env, ask: async () => 'yes' })).toMatchObject({
      code: 0,
      out: expect.stringMatching(/timeline +1\n[^]*by postgres: Back to "one", it's better\n/),
    });

    // The process that had used the other one, one that knows nothing, and both orders of their start.
    expect(await portOf()).toBe(new URL(back).port);
    expect(await portOf(open(timelineMemory()))).toBe(new URL(back).port);
    expect(events.find(({ event }) => event === 'accepted')).toMatchObject({
      position: { timeline: 1 },
      by: `timeline 1 by postgres: Back to "one", it's better`,
    });
    const onlyOther = `${givenUp}?target_session_attrs=primary`;
    const other = openDatabase({ url: onlyOther, applicationName: 'accept-test', ...limits, timelines });
    await expect(other.query({ text: 'SELECT 1' })).rejects.toThrow('another server was accepted at');
    await other.close();
  }, 120_000);

  it('accepts nothing under a role that may not', async () => {
    await executeSql(pair.standbyUrl, `CREATE ROLE weak LOGIN PASSWORD 'weak'`);
    const weak = Object.assign(new URL(pair.standbyUrl), { username: 'weak', password: 'weak' }).href;
    const ran = await runLine(['database', 'accept-timeline', '--reason', 'x', '--yes', '--database-url', weak]);
    expect(ran).toMatchObject({ code: 1, out: '', err: expect.stringContaining('permission denied') });
  });
});
