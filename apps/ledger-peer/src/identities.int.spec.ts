import { createHash } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { openFabric, parseConnection, type FabricClient } from '@sealgate/ledger-fabric';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem, until } from '@sealgate/testing';
import request from 'supertest';
import { fabricAssets } from './data/fabric-assets.ts';
import { signersOf } from './data/signers.ts';
import { parseMappings } from './domain/parse-mappings.ts';
import { SCHEMA } from './peer-migrations.ts';
import { assetRoutes } from './routes/assets.ts';
import { jobRoutes } from './routes/jobs.ts';
import { freshId } from './testing/fabric-mapping.ts';
import { fabricSuite } from './testing/fabric-suite.ts';
import { testApp } from './testing/open-test-log.ts';
import { testPeer, writeOf, type TestPeer } from './testing/open-test-peer.ts';

const suite = fabricSuite();
const basic = {
  channel: 'acme.main',
  chaincode: 'basic',
  transactions: { write: 'CreateAsset', read: 'ReadAsRole', query: 'GetAllAssets' },
  arguments: { write: ['{id}', 'red', '1', 'nobody', '7'], read: ['{id}'], query: [] },
  idMember: 'ID',
};
const mapping = {
  mappings: [
    {
      ...{ ...basic, type: 'deed' },
      actions: { approve: { transaction: 'ApproveAsset', arguments: ['{id}'] } },
    },
    { type: 'note', channel: 'acme.main', chaincode: 'records' },
  ],
};
const mappings = parseMappings(JSON.stringify(mapping), { driver: 'fabric', defaultChannel: undefined });

const keyOf = (family: string) => `${family}-`.padEnd(40, 'k');
const KEYS = ['clerks', 'approvers', 'guests']
  .map((family) => `${family}:${createHash('sha256').update(keyOf(family)).digest('hex')}`)
  .join(',');
const CALLERS = [
  { keyFamily: 'clerks', identity: 'clerk' },
  { keyFamily: 'Approvers', identity: 'approver' },
];

let identities: { readonly name: string }[];
const opened: { client: FabricClient; peer: TestPeer }[] = [];
let processes = 0;

beforeAll(() => {
  const enrolled = (name: string) => ({ name, ...suite.peer.enroll(name, undefined, { role: name }) });
  identities = [enrolled('clerk'), enrolled('approver')];
}, 120_000);
afterEach(async () => {
  for (const { client, peer } of opened.splice(0)) {
    await peer.close();
    await client.close();
  }
});

/** A process of the peer with several identities; `more`: members of its connection file. */
function start({ more = {}, ...options }: { more?: object; runsJobs?: boolean } = {}) {
  const { peer: network, database } = suite;
  const content = {
    identities,
    default: null,
    callers: CALLERS,
    peers: [{ endpoint: network.url, tlsCaFile: network.tlsCaFile }],
    channels: [{ name: 'main', holds: ['acme.main'] }],
    // Longer than a busy machine needs: nothing here is about deadlines.
    deadlinesMs: { evaluate: 20_000, endorse: 20_000, submit: 10_000, commitStatus: 5000, answer: 40_000 },
    ...more,
  };
  const connection = parseConnection(content, '/connection.json');
  const client = openFabric({ connection, journal: { sql: database.sql, schema: SCHEMA }, now: Date.now });
  const ledger = fabricAssets({ client, channels: suite.channels, settleWithinMs: 500 });
  const owner = `i${(processes += 1)}`;
  const peer = testPeer({ sql: database.sql, ledger, owner, mappings, ...options });
  opened.push({ client, peer });
  const hasher = ServerSecrets.parse(`s1:${'s'.repeat(32)}`).derive('cursors');
  const reading = { ledger, mappings, log: undefined, cursors: cursorCodec({ hasher, now: Date.now, sentIn: 'body' }) };
  const app = testApp({
    ...{ keyHash: KEYS, isOpen: false, signers: signersOf(connection) },
    routes: [
      ...assetRoutes({ reading, answerSync: peer.answer, bodyMaxBytes: 65_536, nextTurn: () => Promise.resolve() }),
      ...jobRoutes({ jobs: peer.jobs }),
    ],
  });
  const send = (family: string) => {
    const headers = { 'X-Api-Key': keyOf(family) };
    return {
      post: (path: string, body: object) => request(app).post(path).set(headers).send(body),
      get: (path: string) => request(app).get(path).set(headers),
    };
  };
  return { client, peer, send };
}

const deed = (id: string) => ({ assets: [{ id, type: 'deed', data: {} }] });
const height = () => suite.peer.channel('main').height();

async function signersOfJournal(): Promise<(string | null)[]> {
  const rows = await suite.database.sql.query<{ identity: string | null }>({
    text: `SELECT identity FROM ${SCHEMA}.fabric_transactions ORDER BY begun_at`,
  });
  return rows.map(({ identity }) => identity);
}

describe('callers whose keys have identities', () => {
  it('are who the contract sees: it refuses one and serves the other, by attributes of their certificates', async () => {
    const { send } = start();
    const id = freshId();
    expect((await send('clerks').post('/api/assets', deed(id))).body).toMatchObject({ succeeded: [id] });
    const approve = `/api/assets/${id}/actions/approve`;
    const refused = await send('clerks').post(approve, {});
    expect(refused.body).toMatchObject({ code: 'CONTRACT_REFUSED', contractMessage: `clerk may not approve ${id}` });
    expect((await send('approvers').post(approve, {})).body).toMatchObject({ action: 'approve', result: 'approver' });
    const path = `/api/assets/${id}?type=deed`;
    expect((await send('clerks').get(path)).body).toEqual({ ID: id, role: 'clerk' });
    expect((await send('approvers').get(path)).body).toMatchObject({ ID: id, role: 'approver', Owner: 'approver' });
    const page = await send('clerks').post('/api/assets/query', { type: 'deed', limit: 1 });
    expect(page).toMatchObject({ status: 200, body: { count: 1 } });
    expect((await signersOfJournal()).slice(-2)).toEqual(['clerk', 'approver']);
  });

  it('share assets: a repeated create as another identity finds what the first one wrote', async () => {
    const { send } = start();
    const body = { assets: [{ id: freshId(), type: 'note', data: { n: 1 } }] };
    const first = await send('clerks').post('/api/assets', body);
    const again = await send('approvers').post('/api/assets', body);
    expect(again.body).toMatchObject({ summary: { succeeded: 1 } });
    expect((again.body as { transactionIds: string[] }).transactionIds).toEqual(
      (first.body as { transactionIds: string[] }).transactionIds,
    );
    const third = deed(freshId());
    await send('clerks').post('/api/assets', third);
    expect((await send('approvers').post('/api/assets', third)).body).toMatchObject({
      failed: [{ code: 'RECORD_CONFLICT' }],
    });
  });

  it('without an entry are refused with 403 where there is no default: nothing is sent, and nothing is read', async () => {
    const { send } = start();
    const before = height();
    const guest = send('guests');
    const invalid = { assets: 'refused before its shape is looked at' };
    for (const answer of [
      await guest.post('/api/assets', deed(freshId())),
      await guest.post('/api/assets', invalid),
      await guest.post('/api/assets/x/actions/approve', {}),
      await guest.post('/api/assets/query', { type: 'deed' }),
      await guest.get('/api/assets/x'),
    ])
      expectProblem(answer, 'FORBIDDEN');
    expect(height()).toBe(before);
    // Nobody signs to tell what became of a job.
    expectProblem(await guest.get('/api/jobs/job_1'), 'NOT_FOUND');
  });

  it('without an entry are signed for as the default', async () => {
    const { send } = start({ more: { default: 'clerk' } });
    const id = freshId();
    expect((await send('guests').post('/api/assets', deed(id))).body).toMatchObject({ succeeded: [id] });
    expect((await send('guests').get(`/api/assets/${id}?type=deed`)).body).toEqual({ ID: id, role: 'clerk' });
  });
});

describe('a job whose identity is gone from the connection file', () => {
  it('waits and is not sent as another; the process stays ready and says so; once it is back, the job ends', async () => {
    const idle = start({ runsJobs: false });
    const id = freshId();
    const caller = { familyId: 'approvers', bucket: 'b', limit: 'calls' as const, identity: 'approver' };
    const { jobId } = await idle.peer.answer(writeOf([id], { type: 'deed', caller, prefersAsync: true }));
    const before = height();
    const without = start({ more: { identities: identities.slice(0, 1), callers: [], default: 'clerk' } });
    await until(async () => (await without.client.health([])).problem !== null);
    expect(await without.client.health([])).toEqual({
      ok: true,
      problem:
        'work waits for identities that the connection file does not have: approver; put them back, or list them in retired',
      contracts: [],
    });
    expect(height()).toBe(before);
    expect(await without.peer.jobs.find(jobId, 'approvers')).not.toMatchObject({ status: 'done' });
    await without.peer.close();
    const { peer } = start();
    await until(async () => (await peer.jobs.find(jobId, 'approvers'))?.status === 'done', { timeoutMs: 15_000 });
    expect(JSON.parse((await peer.jobs.find(jobId, 'approvers'))?.result ?? '')).toMatchObject({ succeeded: [id] });
    expect((await signersOfJournal()).at(-1)).toBe('approver');
  }, 30_000);

  it('ends as failed once that is retired, if it has sent nothing; a transaction that it has sent counts', async () => {
    const idle = start({ runsJobs: false });
    const caller = { familyId: 'approvers', bucket: 'b', limit: 'calls' as const, identity: 'approver' };
    const [id, sent] = [freshId(), freshId()];
    const { jobId } = await idle.peer.answer(writeOf([id], { type: 'deed', caller, prefersAsync: true }));
    suite.peer.orderer.hold();
    const pending = await idle.peer.answer(writeOf([sent], { type: 'deed', caller }));
    expect(pending.status).toBe(202);
    await idle.peer.close();
    await idle.client.close();
    const retired = ['approver'];
    const { peer, client } = start({
      more: { identities: identities.slice(0, 1), callers: [], default: 'clerk', retired },
    });
    const resultOf = async (job: string) => (await peer.jobs.find(job, 'approvers'))?.result ?? 'null';
    await until(async () => (await resultOf(jobId)) !== 'null', { timeoutMs: 15_000 });
    expect(JSON.parse(await resultOf(jobId))).toMatchObject({
      failed: [
        { id, code: 'LEDGER_UNAVAILABLE', retryable: false, message: expect.stringContaining('listed in retired') },
      ],
    });
    expect(await client.health([])).toMatchObject({ ok: true, problem: null });
    expect(await resultOf(pending.jobId)).toBe('null');
    suite.peer.orderer.release();
    await until(async () => (await resultOf(pending.jobId)) !== 'null', { timeoutMs: 20_000 });
    expect(JSON.parse(await resultOf(pending.jobId))).toMatchObject({ succeeded: [sent], failed: [] });
  }, 60_000);
});
