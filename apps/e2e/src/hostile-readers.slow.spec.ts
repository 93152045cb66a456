import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { filledGate, filledGateway, filledRisk } from './harness/filled-surfaces.ts';
import { askGate, doorAnswer } from './harness/gate-setup.ts';
import { attack, lookingPaths, type Attack } from './harness/hostile-readers.ts';
import { httpClient, type HttpClient } from './harness/http-client.ts';
import { peerSetup } from './harness/peer-setup.ts';
import { askRisk } from './harness/risk-setup.ts';
import { isFull, scaled } from './harness/scale.ts';

// People with no more than a key that reads, forty connections each, ask for everything that looks as fast as they are
// answered. Nobody else's write, check or list may be refused.

const seconds = scaled({ full: 20, quick: 5 });
const rows = (count: number): number => (isFull ? count : count / 10);
const storyMs = 900_000;
const unique = (): string => randomBytes(12).toString('hex');
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

let postgres: ThrowawayPostgres;
const clients: HttpClient[] = [];
// A database for each surface: their ledgers are not the same.
beforeEach(async () => {
  postgres = await throwawayPostgres();
}, setupTimeoutMs);
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await postgres.stop();
});

/** A client of the readers' own: they share no connection with the others. */
function readersOf({ origin }: HttpClient): HttpClient {
  const client = httpClient(origin, { connections: 200 });
  clients.push(client);
  return client;
}

/** Nobody was refused, the readers were answered, and nothing failed. Times are for people: bounds are in the bench. */
function expectUnharmed(story: string, outcome: Attack): void {
  if (process.env['SEALGATE_FIGURES'] !== undefined) process.stderr.write(`${story}: ${JSON.stringify(outcome)}\n`);
  const { idle, attacked, statuses } = outcome;
  expect({ idle: idle.refused, attacked: attacked.refused }).toEqual({ idle: 0, attacked: 0 });
  expect(attacked.done).toBeGreaterThan(20);
  expect(statuses['200']).toBeGreaterThan(0);
  expect(statuses['500']).toBeUndefined();
}

describe('hostile readers', () => {
  it(
    'of the events, sources and ledger of the gateway stop no write, and no change of another operator',
    async () => {
      const { setup, paths, key } = await filledGateway(postgres, rows(300_000));
      const { gateway, admin, otherAdminToken } = setup;
      try {
        const write = async () => {
          const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json', 'Idempotency-Key': unique() };
          const body = JSON.stringify({ assets: [{ type: 'invoice', data: { amount: 1 } }] });
          return (await gateway.public.send({ method: 'POST', path: '/demo', headers, body })).status < 300;
        };
        expect(await write()).toBe(true);
        const mint = async () => {
          const minted = await admin.send('POST', '/networks/demo/keys', { label: 'x' });
          const path = `/networks/demo/keys/${String((minted.body as { id?: unknown } | undefined)?.id)}`;
          return minted.status === 201 && (await admin.send('DELETE', path)).status === 204;
        };
        const readers = [{ client: readersOf(gateway.admin), headers: bearer(otherAdminToken), paths }];
        expectUnharmed('gateway', await attack(readers, { deeds: [write, mint], seconds }));
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );

  it(
    'of the cases and decisions of the gate stop no check, no case, and no change of another operator',
    async () => {
      const { setup, paths, subjectRef } = await filledGate(postgres, rows(150_000));
      const { gate, key, admin, otherAdminToken } = setup;
      try {
        const check = async () => (await doorAnswer(setup, subjectRef)) === '200 allow ELIGIBLE';
        expect(await check()).toBe(true);
        const open = async () => {
          const asking = { idempotencyKey: unique(), body: { subject_ref: `subj_${unique()}`, venue_ids: ['hall'] } };
          return (await askGate({ gate, key }, ['POST', '/v1/cases'], asking)).status === 201;
        };
        const venue = async () =>
          (await admin.send('POST', '/venues', { venue_id: `v${unique()}`, name: 'Hall' })).status === 201;
        const readers = [{ client: readersOf(gate.admin), headers: bearer(otherAdminToken), paths }];
        expectUnharmed('gate', await attack(readers, { deeds: [check, check, open, venue], seconds }));
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );

  it(
    'of an organisation stop no list and no write of another one',
    async () => {
      const { setup, paths, adminPaths, viewer, partner } = await filledRisk(postgres, rows(100_000));
      const [process] = setup.processes;
      const { admin, otherAdminToken } = setup;
      try {
        const org = `/orgs/${String((await admin.ask('POST', '/orgs', { name: 'Other' }))['id'])}/people`;
        const { id } = await admin.ask('POST', org, { name: 'O', kind: 'human', roles: ['owner'] });
        const key = String((await admin.ask('POST', `${org}/${String(id)}/keys`, { label: 'o' }))['rawKey']);
        const body = { title: 'A risk', category: 'operational', inherent: { likelihood: 3, impact: 4 } };
        const statusOf = async (method: string, path: string, more = {}) =>
          (await askRisk(process!, key, [method, path], more)).status;
        const write = async () => (await statusOf('POST', '/api/risks', { body })) === 201;
        const list = async () => (await statusOf('GET', '/api/risks?limit=20')) === 200;
        const page = async () => (await statusOf('GET', '/api/v1/risks')) === 200;
        const client = readersOf(process!.public);
        const readers = [
          ...[viewer, partner].map((reader) => ({ client, headers: bearer(reader), paths })),
          { client: readersOf(process!.admin), headers: bearer(otherAdminToken), paths: adminPaths },
        ];
        expectUnharmed('risk partner', await attack(readers, { deeds: [write, list, page], seconds }));
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
          const headers = { 'Idempotency-Key': unique() };
          const answer = await setup.ask('POST', '/api/assets', { body: { assets }, headers });
          return answer.status === 200 && (answer.body as { summary: { failed: number } }).summary.failed === 0;
        };
        for (let batch = 0; batch < 6; batch += 1) expect(await write(100)).toBe(true);
        const known = { channel: 'acme.main', n: '000', level: '0', width: '4', epoch: 'e1', id: 'nosuch' };
        const all = lookingPaths('ledger-peer', 'openapi.json', known);
        const paths = all.filter((path) => path.startsWith('/ledger/'));
        paths.push(...Array.from({ length: 20 }, () => '/ledger/acme.main/tile/entries/000'));
        const client = readersOf(setup.peer.public);
        const keyed = { 'X-Api-Key': setup.otherKey };
        const readers = [
          { client, headers: {}, paths },
          { client, headers: keyed, paths: all.filter((path) => path.startsWith('/api/')) },
        ];
        expectUnharmed('ledger peer', await attack(readers, { deeds: [() => write(), () => write(20)], seconds }));
      } finally {
        await setup.stop();
      }
    },
    storyMs,
  );
});
