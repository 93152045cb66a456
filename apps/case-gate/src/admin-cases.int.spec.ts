import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, scansOf } from '@sealgate/testing';
import { check, gateSite, newCase, sealedCase, SETUP_MS, type Answer } from '../test/running-gate.ts';
import { caseList } from './data/case-reads.ts';
import { adminDescription } from './openapi.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite();
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

const reference = (ref: string, digit = 'a') => ({
  kind: 'vault_ref',
  ref,
  sha256: digit.repeat(64),
  media_type: 'image/png',
  size_bytes: 1,
});
let keys = 0;
const create = (body: object, query = '', name: string | undefined = `key-${(keys += 1)}`) =>
  site.admin('POST', `/cases${query}`, body, name === undefined ? {} : { 'idempotency-key': name });
/** The audit events of a case, oldest first. */
const auditOf = async (caseId: string) => {
  const { items } = (await site.admin('GET', '/audit?limit=200')).body;
  return items
    .filter((row: { resource_id: string }) => row.resource_id === caseId)
    .map(({ action, detail, actor }: Record<string, unknown>) => [action, detail, actor])
    .reverse();
};
const actor = expect.stringMatching(/^admin:[0-9a-f]{8}$/);

describe('an operator', () => {
  it('takes a case from creation into the ledger, with each step in timeline and audit', async () => {
    const made = await create({ subject_ref: 'subj_whole', venue_ids: [], metadata: { risk: 'low' } });
    expect(made).toMatchObject({ status: 201, body: { status: 'received', subject_ref: 'subj_whole' } });
    const caseId: string = made.body.case_id;
    const at = `/cases/${caseId}`;
    expect(made.headers['location']).toBe(`/admin/v1${at}`);
    expect((await site.admin('PUT', `${at}/venues`, { venue_ids: ['hall'] })).body.venue_ids).toEqual(['hall']);
    const attached = await site.admin('POST', `${at}/attachments`, { attachments: [reference('vault://1')] });
    expect(attached).toMatchObject({ status: 201, body: { attachments: [{ ref: 'vault://1' }] } });
    expect((await site.admin('POST', `${at}/attachments`, { attachments: [reference('vault://1')] })).status).toBe(200);
    const order = { policy_version: 'p1', decision: 'approve', reason_codes: ['SEEN'] };
    const decided = await site.admin('POST', `${at}/decide`, order);
    expect(decided).toMatchObject({ status: 201, body: { decision: 'approve', status: 'decided' } });
    expect((await site.admin('POST', `${at}/decide`, order)).status).toBe(200);
    const sealed = await site.admin('POST', `${at}/seal`, { policy_version: 'p1' });
    expect(sealed).toMatchObject({ status: 201, body: { status: 'sealed', policy_version: 'p1' } });
    const again = await site.admin('POST', `${at}/seal`, { policy_version: 'p1' });
    expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([200, sealed.body, 'true']);
    const pack = await site.admin('GET', `${at}/assessor-pack`);
    expect(pack.body).toMatchObject({ case_id: caseId, seals: [{ seal_hash: sealed.body.seal_hash }] });
    const page = await site.admin('GET', `${at}/assessor-pack?draft=true`, undefined, { accept: 'text/html' });
    const vary = 'Accept, Accept-Encoding';
    expect(page.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', vary });
    // The public listener and the gate see the same.
    expect((await site.ask('GET', `/v1/cases/${caseId}`, { key })).body).toMatchObject({ status: 'sealed' });
    expect(await check(site, key, 'subj_whole')).toBe('allow ELIGIBLE');
    const { decision_id: decisionId } = decided.body;
    const detail = { environment: 'live' };
    expect(await auditOf(caseId)).toEqual([
      ['case.create', detail, actor],
      ['case.venues', detail, actor],
      ['case.attach', detail, actor],
      [
        'case.decide',
        { ...detail, decision_id: decisionId, policy_version: 'p1', decision: 'approve', decided_by: 'operator' },
        actor,
      ],
      ['case.seal', { ...detail, policy_version: 'p1' }, actor],
      ['case.export', { pack_hash: pack.body.pack_hash }, actor],
      ['case.export', expect.anything(), actor],
    ]);
    const first = await site.admin('GET', `${at}/timeline?limit=2`);
    expect(first.body.items).toMatchObject([
      { seq: 1, event: 'case.received', actor, prev_hash: null },
      { seq: 2, event: 'case.venues_changed', prev_hash: first.body.items[0].hash },
    ]);
    const second = await site.admin('GET', `${at}/timeline?cursor=${first.body.nextCursor}`);
    expect(second.body.items.map(({ event }: { event: string }) => event)).toEqual([
      'case.attached',
      'case.decided',
      'case.sealing',
      'case.sealed',
    ]);
    expect(second.body.nextCursor).toBeNull();
    expect((await site.admin('GET', at)).body).toMatchObject({
      case_id: caseId,
      status: 'sealed',
      metadata: { risk: 'low' },
      attachments: [{ ref: 'vault://1', kind: 'vault_ref', label: null, size_bytes: 1 }],
      decisions: [{ decision_id: decisionId, is_final: true, decided_by: actor, reason_codes: ['SEEN'] }],
      seals: [{ policy_version: 'p1', decision_id: decisionId, seal_hash: sealed.body.seal_hash }],
    });
  });

  it('creates one case per key, which is separate from those of other listeners and environments', async () => {
    const first = await create({ subject_ref: 'subj_once' }, '', 'once');
    const again = await create({ subject_ref: 'subj_once' }, '', 'once');
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    expectProblem(await create({ subject_ref: 'subj_other' }, '', 'once'), 'IDEMPOTENCY_KEY_REUSED');
    const elsewhere = await create({ subject_ref: 'subj_once' }, '?environment=test', 'once');
    expect(elsewhere.body.case_id).not.toBe(first.body.case_id);
    expect(await auditOf(first.body.case_id)).toHaveLength(1);
    expectProblem(await site.admin('POST', '/cases', { subject_ref: 'subj_x' }), 'IDEMPOTENCY_KEY_REQUIRED');
    expectProblem(await create({ subject_ref: 'subj_x', venue_ids: ['never'] }), 'UNKNOWN_VENUE');
    expectProblem(await create({ subject_ref: 'ada' }), 'INVALID_REQUEST');
  });

  it('withdraws a case, and changes none that has ended, does not exist or belongs to another environment', async () => {
    const { caseId } = await newCase(site, key);
    const at = `/cases/${caseId}`;
    const steps = (path: string, query = ''): [string, Promise<Answer>][] => [
      ['venues', site.admin('PUT', `${path}/venues${query}`, { venue_ids: [] })],
      ['attach', site.admin('POST', `${path}/attachments${query}`, { attachments: [reference('v')] })],
      ['decide', site.admin('POST', `${path}/decide${query}`, { policy_version: 'p1', decision: 'approve' })],
      ['withdraw', site.admin('POST', `${path}/withdraw${query}`)],
    ];
    const seal = (path: string, query = '') => site.admin('POST', `${path}/seal${query}`, { policy_version: 'p1' });
    for (const [path, query] of [
      [at, '?environment=test'],
      ['/cases/case_never', ''],
      ['/cases/never', ''],
    ] as const) {
      for (const [, answer] of steps(path, query)) expectProblem(await answer, 'NOT_FOUND');
      expectProblem(await seal(path, query), 'NOT_FOUND');
      for (const read of ['', '/timeline', '/assessor-pack']) {
        expectProblem(await site.admin('GET', `${path}${read}${query}`), 'NOT_FOUND');
      }
    }
    expect((await site.admin('POST', `${at}/withdraw`)).body).toMatchObject({ status: 'withdrawn' });
    const members = { current_status: 'withdrawn' };
    for (const [, answer] of steps(at)) expectProblem(await answer, 'INVALID_STATE_TRANSITION', { members });
    expectProblem(await seal(at), 'CASE_NOT_DECIDED');
    expectProblem(await site.admin('GET', `${at}/assessor-pack`), 'CASE_NOT_SEALED');
    // Refused requests are not audited.
    expect(await auditOf(caseId)).toEqual([['case.withdraw', { environment: 'live' }, actor]]);
  });

  it('gets the same refusals as a key', async () => {
    const { caseId } = await newCase(site, key);
    const at = `/cases/${caseId}`;
    const attachments = [reference('v'), { ...reference('v', 'b') }];
    expectProblem(await site.admin('POST', `${at}/attachments`, { attachments }), 'ATTACHMENT_CONFLICT');
    const bytes = { ...reference('v'), content: 'A'.repeat(4000) };
    expectProblem(await site.admin('POST', `${at}/attachments`, { attachments: [bytes] }), 'VAULT_BYTES_NOT_ALLOWED');
    expectProblem(await site.admin('POST', `${at}/decide`, { policy_version: 'never' }), 'UNKNOWN_POLICY_VERSION');
    const past = { policy_version: 'p1', decision: 'approve', valid_until: '2020-01-01T00:00:00Z' };
    expectProblem(await site.admin('POST', `${at}/decide`, past), 'INVALID_REQUEST');
    await site.admin('POST', `${at}/decide`, { policy_version: 'p1', decision: 'approve' });
    const other = { policy_version: 'p1', decision: 'decline' };
    expectProblem(await site.admin('POST', `${at}/decide`, other), 'DECISION_CONFLICT');
    expectProblem(await site.admin('POST', `${at}/seal`), 'UNSUPPORTED_MEDIA_TYPE');
    expectProblem(await site.admin('POST', `${at}/seal`, { policy_version: 'p 1' }), 'INVALID_REQUEST');
  });
});

describe('the list of cases', () => {
  it('is ordered by age, in both directions, filtered by state and subject, paged, and counted', async () => {
    const environment = 'listed';
    const query = (more: string) => `/cases?environment=${environment}${more}`;
    await site.admin('POST', '/venues', { venue_id: 'hall', name: 'Hall', environment });
    const ids: string[] = [];
    for (const n of [0, 1, 2]) {
      const made = await create(
        { subject_ref: `subj_${n % 2}`, external_ref: `ref ${n}` },
        `?environment=${environment}`,
      );
      ids.push(made.body.case_id);
    }
    const [a, b, c] = ids as [string, string, string];
    await site.admin('POST', `/cases/${b}/withdraw?environment=${environment}`);
    const idsOf = async (more: string): Promise<string[]> =>
      (await site.admin('GET', query(more))).body.items.map((row: { case_id: string }) => row.case_id);
    expect(await idsOf('')).toEqual([c, b, a]);
    expect(await idsOf('&sort=created_at')).toEqual([a, b, c]);
    expect(await idsOf('&status=received')).toEqual([c, a]);
    expect(await idsOf('&status=withdrawn&sort=created_at')).toEqual([b]);
    expect(await idsOf('&open=true&sort=created_at')).toEqual([a, c]);
    expect(await idsOf('&open=false')).toEqual([b]);
    expect(await idsOf('&open=true&status=withdrawn')).toEqual([]);
    expect(await idsOf(`&open=true&subject_ref=subj_0&q=${c.slice(-9)}`)).toEqual([c]);
    expect(await idsOf('&subject_ref=subj_0')).toEqual([c, a]);
    expect(await idsOf('&sort=-updated_at')).toEqual([b, c, a]);
    expect(await idsOf('&q=REF%20bj_0')).toEqual([c, a]);
    expect(await idsOf(`&q=${b.slice(-9)}&status=withdrawn`)).toEqual([b]);
    expect(await idsOf('&q=ref%20zz')).toEqual([]);
    expect((await site.admin('GET', query('&q=f&limit=1'))).body).toMatchObject({ total: 3, items: [{ case_id: c }] });
    expect((await site.admin('GET', '/cases?environment=other&q=f')).body).toMatchObject({ total: 0, items: [] });
    const exported = await site.admin('GET', `/cases/export?environment=${environment}&format=csv&q=f&sort=created_at`);
    const [header, ...lines] = exported.text.trimEnd().split('\r\n');
    expect(header).toMatch(/^case_id,status,subject_ref,/);
    expect(lines.map((line) => line.split(',')[0])).toEqual([a, b, c]);
    const detail = { environment, format: 'csv', q: 'f', sort: 'created_at' };
    const { items: events } = (await site.admin('GET', '/audit?action=list.export')).body;
    expect(events).toMatchObject([{ resource: 'case', resource_id: environment, detail }]);
    const [, middle] = (await site.admin('GET', query(''))).body.items;
    expect(middle).toMatchObject({ external_ref: 'ref 1', case_type: 'onboarding', requested_policy_version: null });
    expect(await idsOf(`&created_from=${middle.created_at}`)).toEqual([c, b]);
    expect(await idsOf(`&created_from=${middle.created_at.replace('Z', '999999999Z')}`)).toEqual([c, b]);
    expect(await idsOf(`&created_to=${middle.created_at}`)).toEqual([a]);
    for (const sort of ['-created_at', 'created_at', 'updated_at']) {
      const first = (await site.admin('GET', query(`&sort=${sort}&limit=2`))).body;
      const rest = await idsOf(`&sort=${sort}&cursor=${first.nextCursor}`);
      expect([...first.items.map((row: { case_id: string }) => row.case_id), ...rest].sort()).toEqual([...ids].sort());
      for (const other of ['&sort=-updated_at', `&sort=${sort}&open=true`])
        expectProblem(await site.admin('GET', query(`${other}&cursor=${first.nextCursor}`)), 'INVALID_CURSOR');
    }
    for (const wrong of ['&status=open', '&open=yes', '&sort=case_id', '&created_from=today', '&subject_ref=ada'])
      expectProblem(await site.admin('GET', query(wrong)), 'INVALID_REQUEST');
    const { states } = (await site.admin('GET', `/case-counts?environment=${environment}`)).body;
    const counted = states.filter(({ count }: { count: number }) => count > 0);
    expect([states.length, counted]).toMatchObject([
      7,
      [
        { status: 'received', count: 2, oldest_at: expect.any(String) },
        { status: 'withdrawn', count: 1 },
      ],
    ]);
    expect(states.find((one: { status: string }) => one.status === 'sealed')).toEqual({
      status: 'sealed',
      count: 0,
      oldest_at: null,
    });
  });

  it('shows a case past its expiry as expired', async () => {
    const other = await site.replica({ CASE_TTL_DAYS: '1' });
    const { caseId } = await newCase(other, key);
    other.advance(2 * 86_400_000);
    const { items } = (await other.admin('GET', '/cases?limit=1')).body;
    expect(items).toMatchObject([{ case_id: caseId, status: 'expired' }]);
    expect((await other.admin('GET', `/cases/${caseId}`)).body.status).toBe('expired');
  });

  it('uses an index for every filter', async () => {
    const asked: { text: string; values: readonly unknown[] }[] = [];
    const noting = { query: (statement: never) => Promise.resolve((asked.push(statement), [])) } as never;
    const page = {
      sorting: { field: 'created_at' as const, descending: false },
      limit: 5,
      after: [new Date().toISOString(), 'case_x'] as [string, string],
    };
    for (const filter of [{}, { status: 'received' as const }, { subject_ref: 'subj_1' }])
      await caseList(noting).rows({ environment: 'live', ...filter, ...page });
    await site.sql.transaction(async (sql) => {
      await sql.query({ text: 'SET LOCAL enable_seqscan = off' });
      for (const [at, index] of ['cases_by_age', 'cases_by_status', 'cases_by_subject'].entries())
        expect(await scansOf(sql, asked[at]!)).toEqual({ whole: [], indexes: [index] });
    });
  });
});

it('all routes that write are for operators only', () => {
  const { paths } = adminDescription() as unknown as { paths: Record<string, Record<string, { responses: object }>> };
  const changing = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => ['post', 'put', 'patch', 'delete'].includes(method))
      .map(([method, { responses }]) => [`${method} ${path}`, Object.keys(responses).includes('403')]),
  );
  expect(changing.length).toBeGreaterThan(15);
  expect(changing.filter(([, isRefused]) => !isRefused)).toEqual([]);
});

it('sealed cases of the public listener are the same cases', async () => {
  const { caseId, seal } = await sealedCase(site, key);
  const { body } = await site.admin('GET', `/cases/${caseId}`);
  expect(body).toMatchObject({ status: 'sealed', seals: [{ seal_hash: seal.body.seal_hash }] });
  expect(await auditOf(caseId)).toEqual([]);
});

it('a case, its timeline, the history of its subject and the audit name keys by their label', async () => {
  const { body: minted } = await site.admin('POST', '/keys', {
    label: 'Crew registration',
    environment: 'live',
    scopes: ['case:write', 'case:decide', 'case:override', 'case:seal'],
  });
  const { caseId, subjectRef } = await sealedCase(site, minted.rawKey);
  const names = { [minted.id]: 'Crew registration' };
  const { body: found } = await site.admin('GET', `/cases/${caseId}`);
  expect([found.names, found.decisions]).toMatchObject([names, [{ decided_by: minted.id }]]);
  expect((await site.admin('GET', `/cases/${caseId}/timeline`)).body).toMatchObject({
    names,
    items: [{ actor: minted.id }, ...Array.from({ length: 3 }, () => ({}))],
  });
  expect((await site.admin('GET', `/subjects/${subjectRef}/history`)).body.names).toEqual(names);
  // Nobody signed in by name.
  expect((await site.admin('GET', '/audit')).body.names).toEqual({});
});
