import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import type { AdminClient } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { approvedSubject, askGate, doorAnswer, gateSetup } from './harness/gate-setup.ts';
import { attack, copyRows, lookingPaths } from './harness/hostile-readers.ts';
import { httpClient, type HttpClient } from './harness/http-client.ts';
import { install } from './harness/installation.ts';
import { peerSetup } from './harness/peer-setup.ts';
import { askRisk, riskSetup } from './harness/risk-setup.ts';
import { isFull, scaled } from './harness/scale.ts';

// People with no more than a key that reads, forty connections each, ask for everything that looks as fast as they are
// answered. Nobody else's write, check or list may be refused.

const seconds = scaled({ full: 20, quick: 5 });
const rows = (count: number): number => (isFull ? count : count / 10);
const storyMs = 600_000;
const unique = (): string => randomBytes(12).toString('hex');

let postgres: ThrowawayPostgres;
let reading: HttpClient | undefined;
// A database for each surface: their ledgers are not the same.
beforeEach(async () => {
  postgres = await throwawayPostgres();
}, setupTimeoutMs);
afterEach(async () => {
  reading?.close();
  await postgres.stop();
});

/** A client of the readers' own: they share no connection with the others. */
function readersOf(origin: string): HttpClient {
  reading = httpClient(origin, { connections: 200 });
  return reading;
}

/** The figures of the story, for people. Timed bounds are in `npm run bench`. */
function tell(story: string, outcome: Awaited<ReturnType<typeof attack>>): void {
  if (process.env['SEALGATE_FIGURES'] !== undefined) process.stderr.write(`${story}: ${JSON.stringify(outcome)}\n`);
}

/** Nobody was refused, the readers were answered, and nothing failed. */
function expectUnharmed({ idle, attacked, statuses }: Awaited<ReturnType<typeof attack>>): void {
  expect({ idle: idle.refused, attacked: attacked.refused }).toEqual({ idle: 0, attacked: 0 });
  expect(attacked.done).toBeGreaterThan(20);
  expect(statuses['200']).toBeGreaterThan(0);
  expect(statuses['500']).toBeUndefined();
}

const changesAsOther = (admin: AdminClient, path: string, body: () => object) => async () =>
  (await admin.send('POST', path, body())).status === 201;

describe('hostile readers', () => {
  it(
    'of the events, sources and ledger of the gateway stop no write, and no change of another operator',
    async () => {
      const setup = await install({ postgres });
      const { gateway, admin, otherAdminToken } = setup;
      try {
        await admin.ask('POST', '/networks', { networkId: 'demo', limits: { ratePerSecond: 1e6, burst: 1e6 } });
        const { rawKey } = await setup.newKey('demo');
        const { sourceId } = await admin.ask('POST', '/networks/demo/sources', {
          name: 'hooks',
          scheme: 'token',
          secret: unique(),
          token: { header: 'X-Token' },
        });
        const write = async () => {
          const headers = { 'X-Api-Key': rawKey, 'Content-Type': 'application/json', 'Idempotency-Key': unique() };
          const body = JSON.stringify({ assetType: 'invoice', data: { amount: 1 } });
          return (await gateway.public.send({ method: 'POST', path: '/demo', headers, body })).status < 300;
        };
        expect(await write()).toBe(true);
        const count = rows(300_000);
        const set = { event_id: `overlay(t.event_id::text placing lpad(to_hex(g), 12, '0') from 25)::uuid` };
        await copyRows(postgres.url, { table: 'ingest.writes', count, set });
        const known = { networkId: 'demo', channel: 'demo.main', sourceId: String(sourceId), type: 'invoice' };
        const paths = lookingPaths('ingest-gateway', 'admin-openapi.json', known);
        paths.push('/admin/v1/events?networkId=demo&type=nosuch', '/admin/v1/events?networkId=demo&status=rejected');
        const headers = { Authorization: `Bearer ${otherAdminToken}` };
        const client = readersOf(gateway.admin.origin);
        const mint = async () => {
          const minted = await admin.send('POST', '/networks/demo/keys', { label: 'x' });
          const path = `/networks/demo/keys/${String((minted.body as { id?: unknown } | undefined)?.id)}`;
          return minted.status === 201 && (await admin.send('DELETE', path)).status === 204;
        };
        const outcome = await attack([{ client, headers, paths }], { deeds: [write, mint], seconds });
        tell('gateway', outcome);
        expectUnharmed(outcome);
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );

  it(
    'of the cases and decisions of the gate stop no check, no case, and no change of another operator',
    async () => {
      const setup = await gateSetup({ postgres });
      const { gate, key, admin, otherAdminToken } = setup;
      try {
        const { subjectRef, caseId } = await approvedSubject(setup);
        const copies = { count: rows(150_000), from: `case_id = '${caseId}'` };
        await copyRows(postgres.url, {
          table: 'gate.cases',
          set: { case_id: `t.case_id || lpad(g::text, 8, '0')` },
          ...copies,
        });
        const check = async () => (await doorAnswer(setup, subjectRef)) === '200 allow ELIGIBLE';
        expect(await check()).toBe(true);
        const open = async () => {
          const asking = { idempotencyKey: unique(), body: { subject_ref: `subj_${unique()}`, venue_ids: ['hall'] } };
          return (await askGate({ gate, key }, ['POST', '/v1/cases'], asking)).status === 201;
        };
        const known = { subject_ref: subjectRef, case_id: caseId, venue_id: 'hall', policy_version: 'p1' };
        const paths = lookingPaths('case-gate', 'admin-openapi.json', known);
        const headers = { Authorization: `Bearer ${otherAdminToken}` };
        const client = readersOf(gate.admin.origin);
        const name = () => ({ venue_id: `v${unique()}`, name: 'Hall' });
        const deeds = [check, check, open, changesAsOther(admin, '/venues', name)];
        const outcome = await attack([{ client, headers, paths }], { deeds, seconds });
        tell('gate', outcome);
        expectUnharmed(outcome);
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );

  it(
    'of an organisation stop no list and no write of another one',
    async () => {
      const setup = await riskSetup(postgres);
      const [process] = setup.processes;
      const { admin, orgId, otherAdminToken } = setup;
      try {
        const owner = await setup.newPerson(['owner']);
        const viewer = await setup.newPerson(['viewer'], { scope: { unrestricted: true } });
        const partner = await setup.newPerson(['partner_read'], { kind: 'machine' });
        const newRisk = { title: 'A risk', category: 'operational', inherent: { likelihood: 3, impact: 4 } };
        const made = await askRisk(process!, owner.key, ['POST', '/api/risks'], { body: newRisk });
        expect(made.status).toBe(201);
        const id = `'rsk_' || lpad(g::text, 22, '0')`;
        await copyRows(postgres.url, {
          table: 'risk.resources',
          count: rows(100_000),
          set: { id },
          from: `kind = 'risk'`,
        });
        const other = await admin.ask('POST', '/orgs', { name: 'Other' });
        const path = `/orgs/${String(other['id'])}/people`;
        const person = await admin.ask('POST', path, { name: 'O', kind: 'human', roles: ['owner'] });
        const { rawKey } = await admin.ask('POST', `${path}/${String(person['id'])}/keys`, { label: 'o' });
        const write = async () =>
          (await askRisk(process!, String(rawKey), ['POST', '/api/risks'], { body: newRisk })).status === 201;
        const list = async () =>
          (await askRisk(process!, String(rawKey), ['GET', '/api/risks?limit=20'])).status === 200;
        const page = async () => (await askRisk(process!, String(rawKey), ['GET', '/api/v1/risks'])).status === 200;
        const known = { orgId, personId: viewer.id, id: String(made.body['id']), q: 'risk' };
        const paths = lookingPaths('risk-partner', 'openapi.json', known);
        const client = readersOf(process!.public.origin);
        const readers = [viewer.key, partner.key].map((key) => ({
          client,
          headers: { Authorization: `Bearer ${key}` },
          paths: [...paths, '/api/heat-map', '/api/evidence-board'],
        }));
        const operators = {
          client: httpClient(process!.admin.origin),
          headers: { Authorization: `Bearer ${otherAdminToken}` },
          paths: lookingPaths('risk-partner', 'admin-openapi.json', known),
        };
        const outcome = await attack([...readers, operators], { deeds: [write, list, page], seconds });
        operators.client.close();
        tell('risk partner', outcome);
        expectUnharmed(outcome);
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );

  it(
    'of a public log, without a key, stop no writer of the ledger',
    async () => {
      const setup = await peerSetup({ env: { PUBLIC_LOG: 'acme.main' } });
      try {
        const write = async (count = 1) => {
          const assets = Array.from({ length: count }, () => ({
            id: unique(),
            type: 'demo.x',
            data: { text: 'x'.repeat(500) },
          }));
          const answer = await setup.ask('POST', '/api/assets', {
            body: { assets },
            headers: { 'Idempotency-Key': unique() },
          });
          return answer.status === 200 && (answer.body as { summary: { failed: number } }).summary.failed === 0;
        };
        for (let batch = 0; batch < 6; batch += 1) expect(await write(100)).toBe(true);
        const known = { channel: 'acme.main', n: '000', level: '0', width: '4', epoch: 'e1', id: 'nosuch' };
        const paths = lookingPaths('ledger-peer', 'openapi.json', known).filter((path) => path.startsWith('/ledger/'));
        paths.push(...Array.from({ length: 20 }, () => '/ledger/acme.main/tile/entries/000'));
        const client = readersOf(setup.peer.public.origin);
        const keyed = {
          client,
          headers: { 'X-Api-Key': setup.otherKey },
          paths: lookingPaths('ledger-peer', 'openapi.json', known).filter((path) => path.startsWith('/api/')),
        };
        const readers = [{ client, headers: {}, paths }, keyed];
        const outcome = await attack(readers, { deeds: [() => write(), () => write(20)], seconds });
        tell('ledger peer', outcome);
        expectUnharmed(outcome);
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );
});
