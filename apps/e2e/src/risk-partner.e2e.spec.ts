import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type OwnPostgres } from '@sealgate/testing';
import { askRisk, riskSetup, type RiskSetup } from './harness/risk-setup.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { errorsIn } from './harness/gateway-process.ts';
import { verify } from './harness/verifier.ts';

let postgres: OwnPostgres;
let risk: RiskSetup;
let owner: { id: string; key: string };
let reviewer: { id: string; key: string };
let partner: { id: string; key: string };

beforeAll(async () => {
  postgres = await throwawayPostgres({ own: true, durable: true });
  risk = await riskSetup(postgres);
  owner = await risk.newPerson(['owner']);
  reviewer = await risk.newPerson(['risk_manager']);
  partner = await risk.newPerson(['partner_read'], { kind: 'machine' });
}, setupTimeoutMs);
afterAll(async () => {
  await risk.stop();
  await postgres.stop();
}, setupTimeoutMs);

const first = () => risk.processes[0]!;
const second = () => risk.processes[1]!;

async function newEvidence(content: string): Promise<string> {
  const sha256 = hash('sha256', content, 'hex');
  const body = { title: 'A report', kind: 'document', sha256 };
  const { body: made } = await askRisk(first(), owner.key, ['POST', '/api/evidence'], { body });
  const id = String(made['id']);
  await askRisk(first(), owner.key, ['POST', `/api/evidence/${id}/transitions`], { body: { to: 'in_review' } });
  return id;
}

describe('surface A in two processes on one database', () => {
  it('a change of rights and a revocation on one apply on the other from the next request', async () => {
    const person = await risk.newPerson(['viewer']);
    const status = async () => (await askRisk(second(), person.key, ['GET', '/api/risks'])).status;
    expect(await status()).toBe(200);
    await risk.admin.ask('PUT', `/orgs/${risk.orgId}/people/${person.id}/roles`, { roles: [] });
    expect(await status()).toBe(403);
    await risk.admin.ask('PUT', `/orgs/${risk.orgId}/people/${person.id}/roles`, { roles: ['auditor'] });
    expect(await status()).toBe(200);
    await risk.admin.send('DELETE', `/orgs/${risk.orgId}/people/${person.id}`);
    expect(await status()).toBe(401);
  });

  it('a cursor and an envelope of one are valid for the other', async () => {
    for (let count = 0; count < 3; count += 1) {
      const body = { title: `Risk ${count}`, category: 'ops', inherent: { likelihood: 1, impact: 2 } };
      await askRisk(first(), owner.key, ['POST', '/api/risks'], { body });
    }
    const one = await askRisk(first(), partner.key, ['GET', '/api/v1/risks?limit=2']);
    const { nextCursor } = one.body['pagination'] as { nextCursor: string };
    const two = await askRisk(second(), partner.key, ['GET', `/api/v1/risks?limit=2&cursor=${nextCursor}`]);
    expect([one.body['items'], two.body['items']].flat()).toHaveLength(3);
    const keys = await askRisk(second(), partner.key, ['GET', '/.well-known/jwks.json']);
    writeFileSync(join(risk.folder, 'page.json'), one.text);
    writeFileSync(join(risk.folder, 'keys.json'), keys.text);
    const signature = String(one.headers['evidence-signature']);
    const args = ['page.json', '--signature', signature, '--jwks', 'keys.json'];
    expect((await verify(risk.folder, 'envelope', ...args)).exitCode).toBe(0);
    writeFileSync(join(risk.folder, 'page.json'), one.text.replace('Risk 0', 'Risk 9'));
    expect((await verify(risk.folder, 'envelope', ...args)).exitCode).toBe(1);
  });

  it('an approval made before one was killed is anchored by the other, once, and proved offline', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(await newEvidence(`evidence ${count}`));
    const approvals = ids.map((id) =>
      askRisk(first(), reviewer.key, ['POST', `/api/evidence/${id}/transitions`], { body: { to: 'approved' } }).catch(
        () => undefined,
      ),
    );
    await approvals[2];
    await first().kill();
    await Promise.all(approvals);
    // An approval that was cut off is repeated; one that was committed is a conflict now.
    for (const id of ids)
      await askRisk(second(), reviewer.key, ['POST', `/api/evidence/${id}/transitions`], { body: { to: 'approved' } });
    const proofs = async () =>
      (await askRisk(second(), partner.key, ['GET', '/api/v1/proofs'])).body['items'] as { subjectId: string }[];
    // The work of the dead process is released once its lease has expired.
    await until(async () => (await proofs()).length === ids.length, { timeoutMs: 60_000, what: 'five proofs' });
    expect((await proofs()).map(({ subjectId }) => subjectId).sort()).toEqual([...ids].sort());
    const page = await askRisk(second(), partner.key, ['GET', '/api/v1/proofs']);
    writeFileSync(join(risk.folder, 'proofs.json'), page.text);
    const keys = await askRisk(second(), partner.key, ['GET', '/.well-known/jwks.json']);
    writeFileSync(join(risk.folder, 'keys.json'), keys.text);
    const signature = String(page.headers['evidence-signature']);
    const args = ['--signature', signature, '--jwks', 'keys.json', '--key', risk.verifierKey];
    const { exitCode, text } = await verify(risk.folder, 'envelope', 'proofs.json', ...args);
    expect({ exitCode, text }).toEqual({ exitCode: 0, text: expect.stringContaining('5 proof(s)') });
    await first().start();
    expect((await askRisk(first(), partner.key, ['GET', '/api/v1/proofs'])).body['items']).toHaveLength(5);
  }, 120_000);

  it('no log contains a key or written data', () => {
    const logs = risk.processes.map((one) => one.logText()).join('');
    for (const { key } of [owner, reviewer, partner]) expect(logs).not.toContain(key);
    expect(logs).not.toMatch(/A report|Risk 0/);
    expect(errorsIn(logs)).toEqual([]);
  });
});
