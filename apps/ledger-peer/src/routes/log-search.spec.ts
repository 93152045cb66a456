import { describe, expect, it } from '@jest/globals';
import type { App } from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { expectProblem } from '@sealgate/testing';
import request from 'supertest';
import type { PublicLog } from '../domain/public-log.ts';
import { testApp } from '../testing/open-test-log.ts';
import { logSearchRoutes } from './log-search.ts';

const NOTE = 'ledger.test/acme.main\n7\nroot\n\n— key signature\n';
const FIRST = { epoch: 0, origin: 'ledger.test/acme.main', declaration: null };
const AT = '2030-01-02T03:04:05.678Z';
const PROOF = {
  channel: 'acme.main',
  index: 0,
  leafHash: 'cd'.repeat(32),
  treeSize: 2,
  inclusionPath: ['ab'.repeat(32)],
  checkpoint: NOTE,
};
const KEY = 'k'.repeat(32);

/** A log that has every index and hash, and the id r1; it records what is asked. */
function searched({ keyHash = sha256(KEY).toString('hex'), showsEntries = true, isPublic = false } = {}) {
  const asked: string[] = [];
  const log = {
    checkpoint: () => Promise.resolve(NOTE),
    logs: () => Promise.resolve([FIRST]),
    find: (channel, wanted) => {
      asked.push(`${channel} ${JSON.stringify(wanted)}`);
      const at = 'place' in wanted ? undefined : AT;
      return Promise.resolve('id' in wanted && wanted.id !== 'r1' ? undefined : { at, proof: PROOF });
    },
    growth: () => Promise.resolve([{ size: 1, at: AT }]),
  } satisfies Partial<PublicLog> as unknown as PublicLog; // Nothing else of it is used here.
  const routes = logSearchRoutes({
    log,
    showsEntries: () => showsEntries,
    published: new Set(isPublic ? ['acme.main', 'acme.archive'] : []),
  });
  return { app: testApp({ keyHash, isOpen: isPublic, routes }), asked };
}

const ask = (app: App, path: string) => request(app).get(path).set('X-Api-Key', KEY);

describe('the search in a log over HTTP', () => {
  it('finds one entry by its whole id, its index or its leaf hash, without what it says', async () => {
    const { app, asked } = searched();
    const hash = 'ab'.repeat(32);
    const find = (query: string) => ask(app, `/ledger/acme.main/entry?${query}`);
    for (const query of ['id=r1', `leafHash=${hash}`])
      expect((await find(query)).body).toEqual({ at: AT, proof: PROOF });
    for (const query of ['index=7', 'index=7&epoch=0', 'index=0&epoch=1'])
      expect((await find(query)).body).toEqual({ at: null, proof: PROOF });
    expectProblem(await find('id=r'), 'NOT_FOUND');
    expect(asked.filter((one) => one.includes('place'))).toEqual([
      'acme.main {"place":{"index":7}}',
      'acme.main {"place":{"index":7}}',
      'acme.main {"place":{"index":0,"epoch":1}}',
    ]);
    const logs = [{ ...FIRST, checkpoint: NOTE }];
    expect((await ask(app, '/ledger/acme.main/overview')).body).toEqual({
      channel: 'acme.main',
      logs,
      growth: [{ size: 1, at: AT }],
    });
  });

  it('lists what somebody named as public by name, to everybody, whatever else a key may read', async () => {
    const open = searched({ isPublic: true }).app;
    for (const asking of [ask(open, '/ledger'), request(open).get('/ledger')])
      expect((await asking).body).toEqual({ logs: [{ channel: 'acme.archive' }, { channel: 'acme.main' }] });
    for (const { app } of [searched(), searched({ keyHash: '' })])
      expect((await ask(app, '/ledger')).body).toEqual({ logs: [] });
    expectProblem(await request(open).get('/ledger?prefix=acme'), 'UNKNOWN_PARAMETER');
    expectProblem(await request(searched().app).get('/ledger/acme.main/overview'), 'UNAUTHENTICATED');
  });

  it.each(['', 'id=r1&index=7', 'index=-1', 'index=07', 'index=1e3', 'epoch=1', 'id=r1&epoch=1', 'leafHash=AB', 'id='])(
    'searches nothing for "%s"',
    async (query) => {
      const { app, asked } = searched();
      expectProblem(await ask(app, `/ledger/acme.main/entry?${query}`), 'INVALID_REQUEST');
      expectProblem(await ask(app, '/ledger/acme.main/entry?prefix=r'), 'UNKNOWN_PARAMETER');
      expect(asked).toEqual([]);
    },
  );

  it.each([
    ['with a key, where entries are not shown', { keyHash: sha256(KEY).toString('hex'), showsEntries: false }],
    ['without one, on a peer that needs none, of a log that nobody named as public', { keyHash: '' }],
  ])('finds nothing %s', async (_, setting) => {
    const { app, asked } = searched(setting);
    for (const path of ['entry?id=r1', 'entry?index=0', 'overview'])
      expectProblem(await ask(app, `/ledger/acme.main/${path}`), 'NOT_FOUND');
    expect(asked).toEqual([]);
    const { app: open } = searched({ ...setting, isPublic: true });
    expect((await ask(open, '/ledger/acme.main/entry?id=r1')).status).toBe(200);
  });
});
