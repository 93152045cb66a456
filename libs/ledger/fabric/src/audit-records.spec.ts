import { describe, expect, it } from '@jest/globals';
import { auditRecords } from './audit-records.ts';
import { ChannelMap } from './channel-map.ts';

/** SHA-256 of {"data":{"n":1},"extra":null,"owner":null,"type":"acme.main/asset"}, by sha256sum. */
const HASH = '562f7854fa3f347f03d9999aaad81bb2e4c5d1d4dd25ae23f0328b28bbc6ff04';
const record = (id: string, changes: object = {}) => ({
  id: `acme.main/${id}`,
  type: 'acme.main/asset',
  owner: null,
  data: { n: 1 },
  extra: null,
  version: 1,
  contentHash: HASH,
  transactionId: 'ff',
  at: '2026-01-01T00:00:00.000Z',
  ...changes,
});
const channels = new ChannelMap([{ name: 'main', holds: ['*'] }]);
const auditOf = (pages: object[][]) => {
  const asked: unknown[] = [];
  const ask = (place: unknown, transaction: string, args: readonly string[]) => {
    asked.push([place, transaction, ...args]);
    const page = Number(args[2] === '' ? 0 : args[2]);
    const bookmark = page + 1 < pages.length ? String(page + 1) : '';
    return Promise.resolve(Buffer.from(JSON.stringify({ records: pages[page], bookmark })));
  };
  return { asked, report: (signal?: AbortSignal) => auditRecords({ channels, ask }, 'acme.main', signal) };
};

describe('an audit on Fabric', () => {
  it('reads every page of the channel and of no other', async () => {
    const { asked, report } = auditOf([[record('a'), record('b')], [record('c')]]);
    expect(await report()).toEqual({ ok: true, size: 3, firstBadRecordId: null, problem: null });
    const place = { fabricChannel: 'main', prefix: 'acme.main/' };
    expect(asked).toEqual([
      [place, 'list', 'acme.main/', '200', ''],
      [place, 'list', 'acme.main/', '200', '1'],
    ]);
  });

  it.each([
    ['data', { data: { n: 2 } }],
    ['type', { type: 'acme.main/other' }],
    ['owner', { owner: 'me' }],
    ['extra', { extra: {} }],
    ['hash', { contentHash: HASH.replace(/^./, 'f') }],
  ])('names the first record with a changed %s', async (_, changes) => {
    const { report } = auditOf([[record('a')], [record('b', changes), record('c', changes)]]);
    expect(await report()).toMatchObject({ ok: false, firstBadRecordId: 'b' });
  });

  it('stops when it is aborted', async () => {
    await expect(auditOf([[record('a')]]).report(AbortSignal.abort())).rejects.toThrow();
  });
});
