import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StartError } from '@sealgate/service-host';
import { until } from '@sealgate/testing';
import { connectClient, connectionFileOf, startStandInPeer, type StandInPeer } from '@sealgate/testing/fabric';
import { approvedEvidence, listOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const RECORDS = fileURLToPath(new URL('../../ledger-chaincode/src/main.ts', import.meta.url));

let peer: StandInPeer;
let service: TestInstallation;
let owner: TestPerson;
let admin: TestPerson;
beforeAll(async () => {
  peer = await startStandInPeer({ chaincodes: [{ name: 'records', program: RECORDS }] });
  service = await testInstallation(onFabric('risk.*'));
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  admin = await service.newPerson(orgId, ['admin']);
}, 120_000);
afterAll(async () => {
  await service.stop();
  await peer.close();
});

/** Configuration for a Fabric network with one channel that holds these of ours. */
const onFabric = (holds: string) => ({
  LEDGER_DRIVER: 'fabric',
  FABRIC_CONFIG: connectionFileOf(peer, [holds]),
  LEDGER_INTEGRATOR: 'false',
});

const anchorOf = async (id: string) => {
  const { item } = (await service.api.get(`/api/v1/evidence/${id}`, owner.key)).json as {
    item: { ledgerRecordId: string | null };
  };
  return item.ledgerRecordId;
};
const isAnchored = (id: string) =>
  until(async () => (await anchorOf(id)) !== null, { timeoutMs: 20_000, what: 'an anchor' });

describe('evidence anchored on Fabric', () => {
  it('is a record of the contract, without a proof, and leaves the outbox empty', async () => {
    const { id, sha256 } = await approvedEvidence(service, [owner, admin]);
    await isAnchored(id);
    const { gateway, close } = connectClient(peer);
    const contract = gateway.getNetwork('main').getContract('records');
    const stored = await contract.evaluateTransaction('read', `risk.evidence/${await anchorOf(id)}`);
    close();
    const { data } = JSON.parse(Buffer.from(stored).toString()) as { data: unknown };
    expect(data).toMatchObject({ evidenceId: id, sha256, version: 1 });
    const waits = (await service.admin('GET', '/waiting')).json as { items: { what: string; count: number }[] };
    expect(waits.items.map(({ what, count }) => [what, count])).toEqual([
      ['anchors', 0],
      ['proofs', 0],
    ]);
    expect((await listOf(service, owner.key, '/api/v1/proofs')).items).toEqual([]);
    const due = await service.sql.query<{ state: string; never: boolean }>({
      text: `SELECT state, due_at = 'infinity' AS never FROM risk.anchors WHERE evidence_id = $1`,
      values: [id],
    });
    expect(due).toEqual([{ state: 'anchored', never: true }]);
  }, 60_000);

  it('is approved while the peer is down, and anchored once after it is back', async () => {
    const before = peer.channel('main').transactions().length;
    await peer.stop();
    const { id, state } = await approvedEvidence(service, [owner, admin]);
    expect(state).toBe('approved');
    await until(
      async () => {
        const rows = await service.sql.query({
          text: 'SELECT 1 FROM risk.anchors WHERE evidence_id = $1 AND attempts > 1',
          values: [id],
        });
        return rows.length === 1;
      },
      { timeoutMs: 20_000, what: 'a second attempt' },
    );
    expect(await anchorOf(id)).toBeNull();
    // Everything else needs no ledger, so the service stays ready.
    expect(await service.ledgerHealth()).toEqual({ ok: true, problem: expect.stringMatching(/./) });
    await peer.start();
    await isAnchored(id);
    expect(peer.channel('main').transactions()).toHaveLength(before + 1);
  }, 60_000);

  it('refuses to start if no Fabric channel holds the channel of the service', async () => {
    const opening = testInstallation(onFabric('other.*'));
    await expect(opening).rejects.toThrow(StartError);
    await expect(opening).rejects.toThrow(/FABRIC_CONFIG: no Fabric channel holds .*risk\.evidence/);
  }, 60_000);

  it('refuses to start with an unreadable connection file', async () => {
    const more = { ...onFabric('risk.*'), FABRIC_CONFIG: '/absent.json' };
    await expect(testInstallation(more)).rejects.toThrow(/FABRIC_CONFIG: .*cannot be read/);
  }, 60_000);
});
