import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { migratedPostgres } from './harness/bundle.ts';
import type { AdminClient } from './harness/admin-client.ts';
import { contractSetup, setupTimeoutMs } from './harness/contract-setup.ts';
import { peerSetup } from './harness/peer-setup.ts';
import { riskSetup } from './harness/risk-setup.ts';
import { verify } from './harness/verifier.ts';

const events = async (admin: AdminClient, query: string): Promise<unknown> =>
  (await admin.ask('GET', `/audit?${query}`))['items'];
const actor = expect.stringMatching(/^admin:[0-9a-f]{8}$/);
const always = {
  id: expect.stringMatching(/^evt_/),
  at: expect.stringMatching(/Z$/),
  actor,
  detail: expect.anything(),
  link: { lane: expect.any(Number), seq: expect.any(Number), heads: expect.any(Array) },
  problem: null,
};

/** Exports the trail, whose events are younger than a minute, and checks it as somebody else would. */
async function expectSignedExport(admin: AdminClient): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-audit-'));
  const save = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value));
  save('audit.ndjson', await admin.ask('GET', '/audit/export'));
  save('keys.json', await admin.ask('GET', '/audit/keys'));
  expect(await verify(folder, 'audit', 'audit.ndjson', '--jwks', 'keys.json')).toMatchObject({ exitCode: 0 });
  save('other.json', { keys: [] });
  expect(await verify(folder, 'audit', 'audit.ndjson', '--jwks', 'other.json')).not.toMatchObject({ exitCode: 0 });
  rmSync(folder, { recursive: true });
}

describe('The audit of the admin listener', () => {
  it(
    'of the gateway shows who created a network, and cannot be changed',
    async () => {
      const setup = await contractSetup();
      try {
        const networkId = await setup.newNetwork();
        const query = `resource=network&resourceId=${networkId}`;
        const requestId = expect.any(String);
        expect(await events(setup.admin, query)).toEqual([
          { ...always, action: 'network.create', resource: 'network', resourceId: networkId, requestId },
        ]);
        expect(await events(setup.admin, `${query}&to=2020-01-01T00:00:00Z`)).toEqual([]);
        expect((await setup.admin.send('DELETE', '/audit')).status).toBe(405);
        expect((await setup.admin.get('/audit?resource_id=x')).body).toMatchObject({ code: 'UNKNOWN_PARAMETER' });
        expect((await setup.gateway.admin.send({ path: '/admin/v1/audit' })).status).toBe(401);
        await expectSignedExport(setup.admin);
      } finally {
        await setup.stop();
      }
    },
    setupTimeoutMs,
  );

  it(
    'of the ledger peer contains an erasure',
    async () => {
      const setup = await peerSetup();
      try {
        const body = { assets: [{ id: 'a-1', type: 'asset', data: {} }] };
        expect((await setup.ask('POST', '/api/assets', { body })).status).toBe(200);
        await setup.admin.ask('POST', `/ledger/channels/${setup.channel}/records/a-1/erase`, { reason: 'asked for' });
        await expectSignedExport(setup.admin);
        expect(await events(setup.admin, 'resource=record')).toMatchObject([{ ...always, action: 'record.erase' }]);
      } finally {
        await setup.stop();
      }
    },
    setupTimeoutMs,
  );

  it(
    'of the risk surface contains the changes of every organisation',
    async () => {
      const postgres = await migratedPostgres('risk-partner');
      const setup = await riskSetup(postgres);
      try {
        const { id } = await setup.newPerson(['owner']);
        await expectSignedExport(setup.admin);
        const found = await events(setup.admin, `resourceId=${id}`);
        expect(found).toMatchObject([expect.objectContaining({ resourceId: id })]);
      } finally {
        await setup.stop();
        await postgres.stop();
      }
    },
    setupTimeoutMs,
  );
});
