import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { connectClient, connectionFileOf, startStandInPeer, type StandInPeer } from '@sealgate/testing/fabric';
import { check, gateSite, newCase, sealedCase, sealNow } from '../test/running-gate.ts';

const RECORDS = fileURLToPath(new URL('../../ledger-chaincode/src/main.ts', import.meta.url));

let peer: StandInPeer;
let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  peer = await startStandInPeer({ chaincodes: [{ name: 'records', program: RECORDS }] });
  site = await gateSite({ LEDGER_DRIVER: 'fabric', FABRIC_CONFIG: connectionFileOf(peer, ['gate.seals']) });
  ({ key } = site);
}, 120_000);
afterAll(async () => {
  await site.stop();
  await peer.close();
});

async function onChannel(recordId: string): Promise<{ type: string; data: unknown }> {
  const { gateway, close } = connectClient(peer);
  try {
    const contract = gateway.getNetwork('main').getContract('records');
    return JSON.parse(Buffer.from(await contract.evaluateTransaction('read', recordId)).toString());
  } finally {
    close();
  }
}
const sealsInLog = () => site.sql.query({ text: `SELECT 1 FROM ledger.records WHERE type = 'case.seal'` });

describe('seals on Fabric', () => {
  it('are records of the contract but of no log, and make their subject eligible', async () => {
    const { caseId, subjectRef, seal } = await sealedCase(site, key);
    const pack = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
    const [{ document, proof }] = pack.body.seals;
    expect(await onChannel(seal.body.ledger_record_id)).toMatchObject({ type: 'case.seal', data: document });
    const { ledger_record_id: id } = seal.body;
    expect(proof).toMatchObject({
      receipt: { network: 'gate', channel: 'gate.seals', id, type: 'case.seal', owner: null, extra: null, version: 1 },
      proof: { v: 1, kind: 'fabric', channel: 'main', chaincode: 'records' },
    });
    // Of this record alone: each is a transaction of its own.
    expect(peer.channel('main').transactions().at(-1)).toMatchObject({ transactionId: proof.receipt.transactionId });
    expect(await sealsInLog()).toEqual([]);
    expect(await check(site, key, subjectRef)).toBe('allow ELIGIBLE');
    const again = await sealNow(site, key, { caseId, version: 'p1' });
    expect([again.status, again.headers['idempotent-replayed'], again.text]).toEqual([200, 'true', seal.text]);
    await until(async () => {
      const { body } = await site.admin('GET', '/waiting');
      return body.items.every(({ count }: { count: number }) => count === 0);
    });
    // The pack stays the same.
    const later = await site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
    expect(later.body.pack_hash).toBe(pack.body.pack_hash);
  }, 60_000);

  it('are not in a pack while too few peers sign for them, and nothing is stored', async () => {
    const { caseId } = await sealedCase(site, key);
    const pack = () => site.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key });
    const first = await pack();
    peer.faults.inject('endorse', { status: { code: 14, message: 'down' } });
    expect((await pack()).body.pack_hash).toBe(first.body.pack_hash);
    await site.sql.query({ text: 'UPDATE gate.seals SET proof = NULL WHERE case_id = $1', values: [caseId] });
    expectProblem(await pack(), 'LEDGER_UNAVAILABLE', { detail: /Too few peers/ });
    peer.faults.clear();
    expect((await pack()).body.seals[0].proof.receipt).toEqual(first.body.seals[0].proof.receipt);
  }, 60_000);

  it('leave revocations to the log, which acts on every replica', async () => {
    const replica = await site.replica();
    const { subjectRef } = await sealedCase(site, key);
    expect(await check(replica, key, subjectRef)).toBe('allow ELIGIBLE');
    await site.admin('POST', `/subjects/${subjectRef}/revoke`, { reason: 'x' });
    expect(await check(replica, key, subjectRef)).toBe('deny ELIGIBILITY_REVOKED');
  }, 60_000);

  it('wait while the peer is away, and the gate continues', async () => {
    const { subjectRef: known } = await sealedCase(site, key);
    const { caseId, subjectRef } = await newCase(site, key);
    const body = { policy_version: 'p1', decision: 'approve' };
    await site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body });
    const before = peer.channel('main').transactions().length;
    await peer.stop();
    const refused = await sealNow(site, key, { caseId, version: 'p1' });
    expectProblem(refused, 'LEDGER_UNAVAILABLE');
    expect((await site.ask('GET', `/v1/cases/${caseId}`, { key })).body.status).toBe('sealing');
    expect(await check(site, key, known)).toBe('allow ELIGIBLE');
    expect(await check(site, key, subjectRef)).toBe('deny NO_SEALED_DECISION');
    await until(async () => {
      const { ok, body: ready } = await site.composition.ready();
      return ok && JSON.stringify(ready).includes('"problem"');
    });
    await peer.start();
    await until(async () => (await check(site, key, subjectRef)) === 'allow ELIGIBLE', { timeoutMs: 30_000 });
    expect(peer.channel('main').transactions()).toHaveLength(before + 1);
  }, 90_000);

  it('are completed once, whichever process crashes', async () => {
    const { caseId, subjectRef } = await newCase(site, key);
    const body = { policy_version: 'p1', decision: 'approve' };
    await site.ask('POST', `/v1/cases/${caseId}/decide`, { key, body });
    const before = peer.channel('main').transactions().length;
    // Committed, but answered as unavailable.
    peer.faults.inject('submit', { statusAfter: { code: 14, message: 'away' } }, { times: 1 });
    await sealNow(site, key, { caseId, version: 'p1' });
    await until(async () => (await check(site, key, subjectRef)) === 'allow ELIGIBLE', { timeoutMs: 30_000 });
    expect(peer.channel('main').transactions()).toHaveLength(before + 1);
  }, 60_000);

  it('fail at start if no Fabric channel holds LEDGER_CHANNEL', async () => {
    const env = { FABRIC_CONFIG: connectionFileOf(peer, ['other.*']) };
    await expect(site.replica(env)).rejects.toThrow(/FABRIC_CONFIG: no Fabric channel holds .*gate\.seals/);
  });
});
