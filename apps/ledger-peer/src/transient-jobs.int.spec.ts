import { ServerSecrets } from '@sealgate/auth';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { NewAsset } from './domain/asset-ledger.ts';
import { parseMappings } from './domain/parse-mappings.ts';
import { SECRET_USES } from './parts.ts';
import { writeOf } from './testing/open-test-peer.ts';
import { peerSuite } from './testing/peer-suite.ts';
import type { Script } from './testing/scripted-ledger.ts';

const suite = peerSuite();
const PIN = 'p-7391-x';
const contract = {
  channel: 'acme.main',
  chaincode: 'basic',
  transactions: { write: 'w', read: 'r' },
  arguments: { write: ['{id}', '{data}'], read: ['{id}'] },
};
const mappingsWith = (transient: string[]) =>
  parseMappings(JSON.stringify({ mappings: [{ ...contract, type: 'asset', transient }] }), {
    driver: 'fabric',
    defaultChannel: undefined,
  });
const mappings = mappingsWith(['pin']);
const secrets = (name: string) => ServerSecrets.parse(`${name}:${name.repeat(32)}`).sealing('test');

const peerOf = (script: Script = {}, more: Parameters<typeof suite.peerWith>[1] = {}) =>
  suite.peerWith({ takesMany: false, ...script }, { mappings, ...more });

const privateWrite = (more: Parameters<typeof writeOf>[1] = {}) =>
  writeOf(['a'], { data: { color: 'red', pin: PIN }, ...more });

const stored = async () =>
  (await suite.database.sql.query<{ row: string }>({ text: 'SELECT j::text AS row FROM peer.jobs j' })).map(
    ({ row }) => row,
  );

const sealedRows = async () =>
  (await suite.database.sql.query({ text: 'SELECT FROM peer.jobs WHERE sealed IS NOT NULL' })).length;

const doneOf = async (peer: ReturnType<typeof peerOf>, jobId: string) => {
  await until(async () => (await peer.jobs.find(jobId, 'family'))?.status === 'done');
  return (await peer.jobs.find(jobId, 'family'))?.result ?? '';
};

describe('a job with transient members', () => {
  it('keeps them sealed while it waits, sends them, and has none once it is done', async () => {
    const idle = peerOf({}, { runsJobs: false });
    const { jobId } = await idle.answer(privateWrite({ prefersAsync: true, key: 'k' }));
    const [waiting] = await stored();
    expect(waiting).toContain('color');
    expect(waiting).toMatch(/s1:[\w-]{40,}/);
    expect(waiting).not.toContain(PIN);
    expect(await sealedRows()).toBe(1);
    const sent: NewAsset[] = [];
    const runner = peerOf({ write: (_ids, assets) => void sent.push(...assets) });
    expect(await doneOf(runner, jobId)).not.toContain(PIN);
    expect(sent).toEqual([
      { id: 'a', type: 'asset', data: { color: 'red' }, text: '{"color":"red"}', transient: { pin: PIN } },
    ]);
    const [done] = await stored();
    expect(done).not.toContain(PIN);
    expect(await sealedRows()).toBe(0);
  });

  it('keeps them sealed while an outcome is unknown, and sends them again if it was never sent', async () => {
    const sent: NewAsset[] = [];
    let isLost = true;
    const peer = peerOf({
      write: (_ids, assets) => {
        sent.push(...assets);
        return sent.length === 1 ? { outcome: 'unknown', transactionId: 't1' } : undefined;
      },
      settle: () => (isLost ? { outcome: 'unknown', transactionId: 't1' } : { outcome: 'again' }),
    });
    const { status, jobId, body } = await peer.answer(privateWrite());
    expect(status).toBe(202);
    expect(body).not.toContain(PIN);
    expect((await stored()).join()).not.toContain(PIN);
    isLost = false;
    await doneOf(peer, jobId);
    expect(sent.map(({ transient }) => transient)).toEqual([{ pin: PIN }, { pin: PIN }]);
    expect(await sealedRows()).toBe(0);
  });

  it('stores nothing of them for a request that is answered at once, keyed or not', async () => {
    const peer = peerOf();
    await peer.answer(privateWrite({ key: 'k' }));
    await peer.answer(privateWrite());
    const rows = await stored();
    expect(rows).toHaveLength(1);
    expect(rows.join()).not.toContain(PIN);
    expect(await peer.answer(privateWrite({ key: 'k' }))).toMatchObject({ replayed: true });
    const other = peer.answer(privateWrite({ key: 'k', data: { color: 'red', pin: 'another' } }));
    await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  });

  it('is counted as in need of the secret that sealed it', async () => {
    const use = SECRET_USES.find(({ what }) => what === 'transient members of unfinished jobs');
    const count = () => suite.database.sql.query({ text: use?.text ?? '' });
    expect(await count()).toEqual([]);
    const idle = peerOf({}, { runsJobs: false });
    await idle.answer(privateWrite({ prefersAsync: true }));
    expect(await count()).toEqual([expect.objectContaining({ secret_id: 's1', rows: '1' })]);
  });

  it.each<[string, Parameters<typeof suite.peerWith>[1]]>([
    ['the secret is gone', { box: secrets('t') }],
    ['the mapping would show them', { mappings: mappingsWith([]) }],
  ])('is not sent if %s, and does not hold up other jobs', async (_, other) => {
    const idle = peerOf({}, { runsJobs: false });
    const sealed = await idle.answer(privateWrite({ prefersAsync: true }));
    const open = await idle.answer(writeOf(['b'], { prefersAsync: true }));
    const runner = peerOf({}, other);
    await doneOf(runner, open.jobId);
    expect(runner.ledger.writes).toEqual([['b']]);
    expect(await runner.jobs.find(sealed.jobId, 'family')).not.toMatchObject({ status: 'done' });
    runner.crash();
    await suite.database.sql.query({ text: `UPDATE peer.jobs SET lease_until = NULL, not_before = NULL` });
    await doneOf(peerOf(), sealed.jobId);
  });
});
