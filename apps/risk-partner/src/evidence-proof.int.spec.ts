import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dataHashOf, receiptLeaf, type Receipt, type RecordProof } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { noteVerifier, parseCheckpoint, verifyInclusion } from '@sealgate/merkle';
import { expectProblem, until } from '@sealgate/testing';
import { approvedEvidence, listOf, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

type Proved = {
  readonly receipt: Receipt;
  readonly proof: RecordProof;
  readonly record: { readonly data: Readonly<Record<string, JsonValue>> | null };
};

let service: TestInstallation;
let orgId: string;
let people: Record<string, TestPerson>;
let evidence: Made;
let hidden: Made;

const askedBy = (person: TestPerson | undefined, id: string) =>
  service.api.send('GET', `/api/evidence/${id}/proof`, {
    ...(person && { key: person.key }),
    headers: { 'x-request-id': 'same' },
  });

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg();
  const owner = await service.newPerson(orgId, ['owner']);
  const admin = await service.newPerson(orgId, ['admin']);
  const scope = { departments: ['ops'] };
  people = { owner, admin };
  for (const role of ['risk_manager', 'auditor', 'contributor', 'viewer', 'partner_read'])
    people[role] = await service.newPerson(orgId, [role], { scope });
  evidence = await approvedEvidence(service, [owner, admin], { department: 'ops' });
  hidden = await approvedEvidence(service, [owner, admin], { department: 'board' });
  for (const { id } of [evidence, hidden])
    await until(async () => (await askedBy(owner, id)).status === 200, { what: 'the proof', timeoutMs: 20_000 });
}, 120_000);
afterAll(() => service.stop());

describe('the proof of evidence', () => {
  it('leads from the fingerprint to a checkpoint signed by the key of the log', async () => {
    const { receipt, proof, record } = (await askedBy(people['viewer'], evidence.id)).json as Proved;
    expect(record.data).toMatchObject({ evidenceId: evidence.id, orgId, sha256: evidence['sha256'], version: 1 });
    expect(receipt).toMatchObject({ type: 'evidence', owner: orgId, extra: null });
    expect(dataHashOf(Buffer.from(receipt.salt!, 'hex'), record.data, null)).toBe(receipt.dataHash);
    const leafHash = receiptLeaf(receipt);
    expect(leafHash.toString('hex')).toBe(proof.leafHash);
    expect(noteVerifier(service.verifierKey).verify(proof.checkpoint)).toBeDefined();
    const { size, root } = parseCheckpoint(proof.checkpoint);
    const path = proof.inclusionPath.map((hash) => Buffer.from(hash, 'hex'));
    expect(verifyInclusion({ leafHash, index: proof.index, size, path, root })).toBe(true);
  });

  it('is there for every role that may read proofs, and for no other caller', async () => {
    for (const [role, person] of Object.entries(people)) {
      const { status } = await askedBy(person, evidence.id);
      expect([role, status]).toEqual([role, role === 'partner_read' ? 403 : 200]);
    }
    expect((await askedBy(undefined, evidence.id)).status).toBe(401);
    const stranger = await service.newPerson(await service.newOrg(), ['owner']);
    expect((await askedBy(stranger, evidence.id)).status).toBe(404);
  });

  it('is the same 404 for a hidden row as for none', async () => {
    expect((await askedBy(people['auditor'], hidden.id)).status).toBe(200);
    for (const role of ['contributor', 'viewer']) {
      const [one, none] = [await askedBy(people[role], hidden.id), await askedBy(people[role], 'evd_none')];
      expectProblem({ ...one, body: one.json }, 'NOT_FOUND');
      expect(one.text).toBe(none.text);
    }
  });

  it('is the same bytes whatever else is anchored, and the proof of /api/v1', async () => {
    const before = await askedBy(people['viewer'], evidence.id);
    const { id } = await approvedEvidence(service, [people['owner']!, people['admin']!], { department: 'board' });
    await until(async () => (await askedBy(people['owner'], id)).status === 200, {
      what: 'the proof',
      timeoutMs: 20_000,
    });
    expect((await askedBy(people['viewer'], evidence.id)).text).toBe(before.text);
    const { items } = await listOf(service, people['viewer']!.key, `/api/v1/proofs?subjectId=${evidence.id}`);
    expect(items).toEqual([expect.objectContaining((before.json as Proved).proof)]);
  });

  it('is 404 as long as there is no proof', async () => {
    const { id } = await rowsOf(service, people['owner']!).evidence();
    const answer = await askedBy(people['owner'], id);
    expectProblem({ ...answer, body: answer.json }, 'NOT_FOUND', { detail: /has no proof/ });
  });

  it('has neither salt nor content once the record was erased', async () => {
    const { receipt } = (await askedBy(people['owner'], hidden.id)).json as Proved;
    await service.sql.query({
      text: `SELECT ledger.erase($1, $2, 'asked for', 1, 'operator', 'request')`,
      values: [receipt.channel, receipt.id],
    });
    const erased = (await askedBy(people['owner'], hidden.id)).json as Proved;
    expect([erased.receipt.salt, erased.record]).toEqual([null, { data: null }]);
    expect(erased.receipt.dataHash).toBe(receipt.dataHash);
  });
});
