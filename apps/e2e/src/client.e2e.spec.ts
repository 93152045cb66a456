import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  caseGate,
  checkRecord,
  gateDoor,
  ingestGateway,
  itemsOf,
  provedRiskPartner,
  UnprovedError,
  type Jwks,
  type ProvedRecord,
} from '@sealgate/client';
import { until, type ThrowawayPostgres } from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import { gateSetup, type GateSetup } from './harness/gate-setup.ts';
import { newDocumentKey } from './harness/new-secrets.ts';
import { riskSetup, type RiskSetup } from './harness/risk-setup.ts';

type Fetch = (request: Request) => Promise<Response>;

/** How many times a write is made and its answer lost. */
function losingAnswers(times: number): { fetch: Fetch; sent: Request[] } {
  const sent: Request[] = [];
  const lossy: Fetch = async (request) => {
    sent.push(request.clone());
    const response = await fetch(request);
    if (sent.length > times) return response;
    await response.body?.cancel();
    throw new TypeError('fetch failed');
  };
  return { fetch: lossy, sent };
}

describe('a sender with the client', () => {
  let setup: ContractSetup;
  beforeAll(async () => {
    setup = await sharedSetup();
  }, setupTimeoutMs);
  afterAll(() => setup.stop(), setupTimeoutMs);

  it('writes one record although the answers of two attempts are lost, and verifies offline that it is in the log', async () => {
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const { fetch: lossy, sent } = losingAnswers(2);
    const gateway = ingestGateway({
      baseUrl: setup.gateway.public.origin,
      headers: { 'X-Api-Key': rawKey },
      fetch: lossy,
      retry: { backoffMs: 1 },
    });
    const data = { total: 12 };
    const { data: answer, response } = await gateway.POST('/{networkId}', {
      params: { path: { networkId } },
      body: { type: 'order', data },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
    expect(sent).toHaveLength(3);

    const channel = `/ledger/channels/${networkId}.main`;
    const listed = (await setup.admin.ask('GET', `${channel}/records`))['items'] as { id: string }[];
    expect(listed).toHaveLength(1);
    const { id } = listed[0]!;
    expect(answer).toMatchObject({ records: [{ id }] });

    const path = `${channel}/records/${id}/proof`;
    await until(async () => (await setup.admin.get(path)).status === 200, { timeoutMs: 20_000, what: 'a proof' });
    const proved = (await setup.admin.ask('GET', path)) as unknown as ProvedRecord;
    await checkRecord(proved, [setup.verifierKey], { data });
    await expect(checkRecord(proved, [setup.verifierKey], { data: { total: 13 } })).rejects.toThrow(UnprovedError);
  });
});

describe('a partner with the client', () => {
  let postgres: ThrowawayPostgres;
  let setup: RiskSetup;
  beforeAll(async () => {
    postgres = await migratedPostgres('risk-partner');
    const key = newDocumentKey();
    setup = await riskSetup(postgres, { DOCUMENT_SIGNING_KEY: key });
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await postgres.stop();
  }, setupTimeoutMs);

  it('reads every page of a list that the pinned keys signed, from any replica, and rejects modified pages', async () => {
    const owner = await setup.newPerson(['owner']);
    const [first, second] = setup.processes.map(({ public: { origin } }) => origin) as [string, string];
    const headers = { Authorization: `Bearer ${owner.key}` };
    for (let number = 1; number <= 5; number += 1) {
      const response = await fetch(`${first}/api/assets`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `asset ${number}`, type: 'system', criticality: 'low' }),
      });
      expect([response.status, await response.text()]).toEqual([201, expect.any(String)]);
    }
    const pinned = (await (await fetch(`${first}/.well-known/jwks.json`)).json()) as Jwks;
    const partner = provedRiskPartner({ baseUrl: second, headers, pinned });
    const names: (string | null)[] = [];
    const pages = itemsOf((cursor) => partner.GET('/api/v1/assets', { params: { query: { limit: 2, ...cursor } } }));
    for await (const { name } of pages) names.push(name);
    expect(names.sort()).toEqual(['asset 1', 'asset 2', 'asset 3', 'asset 4', 'asset 5']);

    const forging: Fetch = async (request) => {
      const response = await fetch(request);
      const text = (await response.text()).replace('asset 1', 'asset 7');
      return new Response(text, { status: response.status, headers: response.headers });
    };
    const forged = provedRiskPartner({ baseUrl: second, headers, pinned, fetch: forging });
    await expect(forged.GET('/api/v1/assets')).rejects.toThrow(UnprovedError);
  });
});

describe('a venue with the client', () => {
  let postgres: ThrowawayPostgres;
  let setup: GateSetup;
  beforeAll(async () => {
    postgres = await migratedPostgres('case-gate');
    setup = await gateSetup({ postgres });
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await postgres.stop();
  }, setupTimeoutMs);

  it('opens its door to approved subjects, shuts it at once after a revocation, and keeps it shut without a gate', async () => {
    const subject = `subj_${randomBytes(8).toString('hex')}`;
    const baseUrl = setup.gate.public.origin;
    const { fetch: lossy } = losingAnswers(1);
    const cases = caseGate({
      baseUrl,
      headers: { Authorization: `Bearer ${setup.key}` },
      fetch: lossy,
      retry: { backoffMs: 1 },
    });
    const created = await cases.POST('/v1/cases', { body: { subject_ref: subject, venue_ids: ['hall'] } });
    const caseId = created.data!.case_id;
    const path = { case_id: caseId };
    await cases.POST('/v1/cases/{case_id}/decide', {
      params: { path },
      body: { policy_version: 'p1', decision: 'approve' },
    });
    const sealed = await cases.POST('/v1/cases/{case_id}/seal', {
      params: { path, header: { 'Idempotency-Key': `${caseId}:p1` } },
    });
    expect(sealed.data).toMatchObject({ case_id: caseId, status: 'sealed' });

    const ask = gateDoor({ baseUrl, key: setup.key, timeoutMs: 10_000 });
    const visit = { subject, venue: 'hall' };
    expect(await ask(visit)).toEqual({ allow: true, reason: 'ELIGIBLE', decisionId: expect.stringMatching(/^gd_/) });
    expect(await ask({ ...visit, venue: 'cellar' })).toMatchObject({ allow: false, reason: 'VENUE_UNKNOWN' });
    expect(await gateDoor({ baseUrl, key: `gk_${'A'.repeat(43)}` })(visit)).toEqual({
      allow: false,
      reason: 'UNAUTHENTICATED',
    });
    await setup.admins[0]!.ask('POST', `/subjects/${subject}/revoke`, { reason: 'Ticket 9' });
    expect(await ask(visit)).toMatchObject({ allow: false, reason: 'ELIGIBILITY_REVOKED' });
    await setup.gate.stop();
    expect(await ask(visit)).toEqual({ allow: false, reason: 'UNREACHABLE' });
  });
});
