import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StartError } from '@sealgate/service-host';
import { expectProblem, until } from '@sealgate/testing';
import { connectClient, connectionFileOf, startStandInPeer, type StandInPeer } from '@sealgate/testing/fabric';
import { approvedEvidence, listOf } from './testing/demo-rows.ts';
import { callTool } from './testing/http-caller.ts';
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
const proofOf = (id: string) => service.api.get(`/api/evidence/${id}/proof`, owner.key);
const proofsOf = async (id: string): Promise<readonly Record<string, unknown>[]> =>
  (await listOf(service, owner.key, `/api/v1/proofs?subjectId=${id}`)).items;
const isProved = (id: string) =>
  until(async () => (await proofsOf(id)).length === 1, { timeoutMs: 20_000, what: 'a proof' });
const isAnchored = (id: string) =>
  until(async () => (await anchorOf(id)) !== null, { timeoutMs: 20_000, what: 'an anchor' });

describe('evidence anchored on Fabric', () => {
  it('is a record of the contract, proved by peers once, and leaves the outbox empty', async () => {
    const { id, sha256 } = await approvedEvidence(service, [owner, admin]);
    await isAnchored(id);
    const { gateway, close } = connectClient(peer);
    const contract = gateway.getNetwork('main').getContract('records');
    const stored = await contract.evaluateTransaction('read', `risk.evidence/${await anchorOf(id)}`);
    close();
    const { data } = JSON.parse(Buffer.from(stored).toString()) as { data: unknown };
    expect(data).toMatchObject({ evidenceId: id, sha256, version: 1 });
    await isProved(id);
    const waits = (await service.admin('GET', '/waiting')).json as { items: { what: string; count: number }[] };
    expect(waits.items.map(({ what, count }) => [what, count])).toEqual([
      ['anchors', 0],
      ['proofs', 0],
    ]);
    const [item] = await proofsOf(id);
    const ledgerRecordId = await anchorOf(id);
    expect(item).toMatchObject({
      ...{ subjectType: 'evidence', subjectId: id, sha256, ledgerRecordId, channel: 'risk.evidence' },
      ...{ index: null, leafHash: null, treeSize: null, inclusionPath: null, checkpoint: null },
      receipt: { network: 'risk', channel: 'risk.evidence', id: ledgerRecordId, type: 'evidence', version: 1 },
      proof: { v: 1, kind: 'fabric', channel: 'main', chaincode: 'records' },
    });
    expect(item!['sealedAt']).toBe((item!['receipt'] as { at: string }).at);
    const { receipt, proof, record } = (await proofOf(id)).json as Record<string, unknown>;
    expect({ receipt, proof }).toEqual({ receipt: item!['receipt'], proof: item!['proof'] });
    expect(record).toEqual({ data });
    // Of this record alone: each is a transaction of its own.
    expect(peer.channel('main').transactions().at(-1)).toMatchObject({
      transactionId: (receipt as typeof item)!['transactionId'],
    });
  }, 60_000);

  it('is the same by tools', async () => {
    const { id } = await approvedEvidence(service, [owner, admin]);
    await isProved(id);
    const { content } = await callTool(service.api, owner.key, 'list_proofs', { subjectId: id });
    expect((content as { items: unknown[] }).items).toEqual(await proofsOf(id));
  }, 60_000);

  it('is proved on demand while no proof is stored, or 503 while too few peers sign', async () => {
    const { id } = await approvedEvidence(service, [owner, admin]);
    await isProved(id);
    const stored = (await proofOf(id)).json as { receipt: unknown };
    const values = [id];
    await service.sql.query({ text: 'DELETE FROM risk.proofs WHERE evidence_id = $1', values });
    await service.sql.query({
      text: `UPDATE risk.anchors SET state = 'anchored', due_at = 'infinity' WHERE evidence_id = $1`,
      values,
    });
    expect((await proofOf(id)).json).toMatchObject({ receipt: stored.receipt, proof: { kind: 'fabric' } });
    peer.faults.inject('endorse', { status: { code: 14, message: 'down' } });
    const refused = await proofOf(id);
    peer.faults.clear();
    expectProblem({ ...refused, body: refused.json }, 'LEDGER_UNAVAILABLE');
    const stranger = await service.newPerson(await service.newOrg(), ['owner']);
    expect((await service.api.get(`/api/evidence/${id}/proof`, stranger.key)).status).toBe(404);
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
