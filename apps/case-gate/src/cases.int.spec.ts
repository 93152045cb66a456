import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { expectProblem, until } from '@sealgate/testing';
import { caseTransactionsOf, check, gateSite, newCase, sealedCase, SETUP_MS } from '../test/running-gate.ts';

const SECRETS = `s1:${'x'.repeat(32)}`;
let site: Awaited<ReturnType<typeof gateSite>>;
let key: string;
beforeAll(async () => {
  site = await gateSite({ SERVER_SECRETS: SECRETS });
  ({ key } = site);
}, SETUP_MS);
afterAll(() => site.stop());

let keys = 0;
const idempotency = (name = `k${(keys += 1)}`) => ({ 'idempotency-key': name });
const create = (body: unknown, headers: Record<string, string> = idempotency()) =>
  site.ask('POST', '/v1/cases', { key, body, headers });
const attach = (caseId: string, attachments: unknown[]) =>
  site.ask('POST', `/v1/cases/${caseId}/attachments`, { key, body: { attachments } });
const decide = (caseId: string, body: object, as = key) =>
  site.ask('POST', `/v1/cases/${caseId}/decide`, { key: as, body: { policy_version: 'p1', ...body } });
const statusOf = async (caseId: string) => (await site.ask('GET', `/v1/cases/${caseId}`, { key })).body.status;
const reference = (ref: string, digit = 'a') => ({
  kind: 'vault_ref',
  ref,
  sha256: digit.repeat(64),
  media_type: 'image/png',
  size_bytes: 1,
});

describe('creating a case', () => {
  it('answers 201 with its path, once per key', async () => {
    const headers = idempotency('"once"');
    const first = await create({ subject_ref: 'subj_once' }, headers);
    expect(first).toMatchObject({ status: 201, body: { status: 'received', subject_ref: 'subj_once' } });
    expect(Object.keys(first.body)).toEqual(['case_id', 'status', 'subject_ref', 'created_at']);
    expect(first.headers['location']).toBe(`/v1/cases/${first.body.case_id}`);
    const again = await create({ subject_ref: 'subj_once' }, idempotency('once'));
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text });
    expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true', location: first.headers['location'] });
    expectProblem(await create({ subject_ref: 'subj_other' }, idempotency('once')), 'IDEMPOTENCY_KEY_REUSED');
  });

  it('creates one case for the same request sent to two replicas at once', async () => {
    const other = await site.replica();
    const headers = idempotency('race');
    const body = { subject_ref: 'subj_race' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? site : other).ask('POST', '/v1/cases', { key, body, headers }),
      ),
    );
    const ids = new Set(answers.filter(({ status }) => status === 201).map((answer) => answer.body.case_id));
    expect(ids.size).toBe(1);
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    expect(
      answers.filter((answer) => answer.status === 201 && answer.headers['idempotent-replayed'] === undefined),
    ).toHaveLength(1);
  });

  it('is refused after 250 ms while another transaction holds the same claim', async () => {
    const body = { subject_ref: 'subj_held' };
    const headers = idempotency('held');
    const claims = await site.sql.query<{ claim: Buffer }>({ text: 'SELECT claim FROM gate.claims' });
    const known = new Set(claims.map(({ claim }) => claim.toString('hex')));
    await create(body, headers);
    const rows = await site.sql.query<{ claim: Buffer }>({ text: 'SELECT claim FROM gate.claims' });
    const claim = rows.find((row) => !known.has(row.claim.toString('hex')))!.claim;
    await site.sql.transaction(async (sql) => {
      await sql.query({ text: 'SELECT pg_advisory_xact_lock($1)', values: [claim.readBigInt64BE(0).toString()] });
      expectProblem(await create(body, headers), 'IDEMPOTENCY_IN_PROGRESS', { retryAfterSeconds: 1 });
    });
    expect((await create(body, headers)).headers['idempotent-replayed']).toBe('true');
  });

  it.each<[string, unknown]>([
    ['/subject_ref', { subject_ref: 'ada' }],
    ['/subject_ref', { subject_ref: null }],
    ['/case_type', { subject_ref: 'subj_a', case_type: 'other' }],
    ['/external_ref', { subject_ref: 'subj_a', external_ref: '' }],
    ['/metadata/a', { subject_ref: 'subj_a', metadata: { a: 'x'.repeat(513) } }],
    [
      '/metadata',
      { subject_ref: 'subj_a', metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v'])) },
    ],
    ['/requested_policy_version', { subject_ref: 'subj_a', requested_policy_version: 'a b' }],
    ['/unknown', { subject_ref: 'subj_a', unknown: 1 }],
  ])('is refused for an invalid %s', async (pointer, body) => {
    const answer = await create(body);
    expectProblem(answer, 'INVALID_REQUEST');
    expect(answer.body.errors.map((fault: { pointer: string }) => fault.pointer)).toContain(pointer);
  });

  it('is refused without a key, with an invalid one, and for an unknown venue', async () => {
    expectProblem(await create({ subject_ref: 'subj_a' }, {}), 'IDEMPOTENCY_KEY_REQUIRED');
    for (const wrong of ['a b', '"a";x=1', '"a", "b"', '"a']) {
      expectProblem(await create({ subject_ref: 'subj_a' }, { 'idempotency-key': wrong }), 'INVALID_IDEMPOTENCY_KEY');
    }
    const unknown = await create({ subject_ref: 'subj_a', venue_ids: ['hall', 'nowhere'] });
    expectProblem(unknown, 'UNKNOWN_VENUE', { errors: [{ in: 'body', pointer: '/venue_ids/1' }] });
    const many = Array.from({ length: 201 }, (_, i) => `v${i}`);
    const wrong = [
      ['*', 'hall'],
      ['hall', '*'],
      ['*', '*'],
      ['hall', 'hall'],
      many,
      ['**'],
      [''],
      ['a b'],
      [null],
      '*',
      null,
    ];
    for (const venueIds of wrong) {
      const answer = await create({ subject_ref: 'subj_a', venue_ids: venueIds });
      expectProblem(answer, 'INVALID_REQUEST');
      expect(answer.body.errors[0].pointer).toMatch(/^\/venue_ids(\/0)?$/);
    }
  });

  it('accepts twenty metadata pairs with any text', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, `\u0000${'é'.repeat(511)}`]));
    expect((await create({ subject_ref: 'subj_a', metadata, venue_ids: ['*'] })).status).toBe(201);
  });
});

describe('venues of a case', () => {
  it('can be changed until the decision', async () => {
    const { caseId } = await newCase(site, key);
    const put = (venueIds: string[]) =>
      site.ask('PUT', `/v1/cases/${caseId}/venues`, { key, body: { venue_ids: venueIds } });
    expect((await put(['*'])).body.venue_ids).toEqual(['*']);
    expectProblem(await put(['nowhere']), 'UNKNOWN_VENUE');
    await decide(caseId, { decision: 'approve' });
    expectProblem(await put([]), 'INVALID_STATE_TRANSITION', { members: { current_status: 'decided' } });
  });
});

describe('attachments', () => {
  it('are idempotent, and refuse another hash', async () => {
    const { caseId } = await newCase(site, key);
    const first = await attach(caseId, [reference('v/1'), { ...reference('v/2', 'b'), label: 'passport' }]);
    expect(first).toMatchObject({ status: 201, body: { case_id: caseId, status: 'in_review' } });
    expect(Object.keys(first.body.attachments[0])).toEqual(['attachment_id', 'kind', 'ref', 'sha256']);
    const again = await attach(caseId, [reference('v/2', 'b'), reference('v/2', 'b')]);
    const [, second] = first.body.attachments;
    expect(again).toMatchObject({ status: 200, body: { attachments: [second, second] } });
    expectProblem(await attach(caseId, [reference('v/1', 'c')]), 'ATTACHMENT_CONFLICT');
    // A refused request stores nothing.
    expectProblem(await attach(caseId, [reference('v/3'), reference('v/3', 'd')]), 'ATTACHMENT_CONFLICT');
    expect((await site.ask('GET', `/v1/cases/${caseId}`, { key })).body.attachment_count).toBe(2);
  });

  it.each<[string, unknown[]]>([
    ['none', []],
    ['fifty-one', Array.from({ length: 51 }, (_, index) => reference(`v/${index}`))],
    ['an upper case hash', [{ ...reference('v'), sha256: 'A'.repeat(64) }]],
    ['a negative size', [{ ...reference('v'), size_bytes: -1 }]],
    ['a reference too long', [reference('x'.repeat(513))]],
    ['another kind', [{ ...reference('v'), kind: 'other' }]],
  ])('are refused: %s', async (_, attachments) => {
    const { caseId } = await newCase(site, key);
    expectProblem(await attach(caseId, attachments), 'INVALID_REQUEST');
  });

  it('with bytes are refused before any other fault of the body', async () => {
    const { caseId } = await newCase(site, key);
    expectProblem(await attach(caseId, [{ Base64: 'AA==', nonsense: 1 }]), 'VAULT_BYTES_NOT_ALLOWED');
    expectProblem(await attach('case_unknown', [{ data: 1 }]), 'VAULT_BYTES_NOT_ALLOWED');
    expectProblem(await attach('case_unknown', [reference('v')]), 'NOT_FOUND');
  });

  it('are accepted until a decision', async () => {
    const { caseId } = await newCase(site, key);
    await decide(caseId, { decision: 'decline' });
    expectProblem(await attach(caseId, [reference('v')]), 'INVALID_STATE_TRANSITION', {
      members: { current_status: 'decided' },
    });
  });
});

describe('the end of a case', () => {
  it('is a withdrawal, before a decision', async () => {
    const { caseId } = await newCase(site, key);
    const withdrawn = await site.ask('POST', `/v1/cases/${caseId}/withdraw`, { key });
    expect(withdrawn).toMatchObject({ status: 200, body: { case_id: caseId, status: 'withdrawn' } });
    const again = await site.ask('POST', `/v1/cases/${caseId}/withdraw`, { key, body: {} });
    expectProblem(again, 'INVALID_STATE_TRANSITION', { members: { current_status: 'withdrawn' } });
    expectProblem(await decide(caseId, { decision: 'approve' }), 'INVALID_STATE_TRANSITION', {
      members: { current_status: 'withdrawn' },
    });
  });

  it('is its expiry: on read, on change, and by the job', async () => {
    const late = await site.replica({ CASE_TTL_DAYS: '1' });
    const [read, changed, left] = [await newCase(late, key), await newCase(late, key), await newCase(late, key)];
    late.advance(86_400_000);
    expect((await late.ask('GET', `/v1/cases/${read.caseId}`, { key })).body.status).toBe('expired');
    const refused = await late.ask('POST', `/v1/cases/${changed.caseId}/withdraw`, { key });
    expectProblem(refused, 'INVALID_STATE_TRANSITION', { members: { current_status: 'expired' } });
    expect(await statusOf(changed.caseId)).toBe('expired');
    const stored = () =>
      site.sql.query({ text: 'SELECT status FROM gate.cases WHERE case_id = $1', values: [left.caseId] });
    expect(await stored()).toEqual([{ status: 'received' }]);
    const { expireCases } = await import('./data/background.ts');
    const inTransaction = caseTransactionsOf(site.sql, ServerSecrets.parse(SECRETS));
    // A corrupt case expires before this one and must not block it.
    const { caseId: edited } = await newCase(late, key);
    const text = `UPDATE gate.cases SET expires_at = '2001-01-01' WHERE case_id = $1`;
    await site.sql.query({ text, values: [edited] });
    const ended = expireCases({ sql: site.sql, inTransaction, now: () => Date.now() + 86_400_000 });
    await expect(ended).rejects.toThrow('Some cases could not be expired.');
    expect(await stored()).toEqual([{ status: 'expired' }]);
  });
});

describe('the access of a key', () => {
  it('is limited to its environment', async () => {
    const other = await site.newKey(undefined, 'test');
    const { caseId, subjectRef } = await sealedCase(site, key);
    const hidden = await site.ask('GET', `/v1/cases/${caseId}`, { key: other });
    const missing = await site.ask('GET', '/v1/cases/case_missing', { key: other });
    const without = ({ text }: { text: string }) => text.replace(/req_[0-9a-f]+/, '');
    expect(without(hidden)).toBe(without(missing));
    for (const [method, path, body] of [
      ['GET', `/v1/cases/${caseId}/assessor-pack`, undefined],
      ['GET', `/v1/eligibility/${subjectRef}`, undefined],
      ['POST', `/v1/cases/${caseId}/withdraw`, {}],
      ['POST', `/v1/cases/${caseId}/attachments`, { attachments: [reference('v')] }],
      ['POST', `/v1/cases/${caseId}/decide`, { policy_version: 'p1', decision: 'approve' }],
      ['POST', `/v1/cases/${caseId}/seal`, {}],
    ] as const) {
      expectProblem(
        await site.ask(method, path, { key: other, body, headers: { 'idempotency-key': `${caseId}:p1` } }),
        'NOT_FOUND',
      );
    }
    await site.admin('POST', '/venues', { venue_id: 'hall', name: 'Hall', environment: 'test' });
    expect(await check(site, other, subjectRef)).toBe('deny SUBJECT_UNKNOWN');
  });

  it('is limited to its scopes', async () => {
    const poor = await site.newKey(['case:read']);
    const { caseId } = await newCase(site, key);
    expect((await site.ask('GET', `/v1/cases/${caseId}`, { key: poor })).status).toBe(200);
    for (const [method, path] of [
      ['POST', '/v1/cases'],
      ['PUT', `/v1/cases/${caseId}/venues`],
      ['POST', `/v1/cases/${caseId}/withdraw`],
      ['POST', `/v1/cases/${caseId}/attachments`],
      ['POST', `/v1/cases/${caseId}/decide`],
      ['POST', `/v1/cases/${caseId}/seal`],
      ['GET', `/v1/cases/${caseId}/assessor-pack`],
      ['GET', '/v1/eligibility/subj_a'],
    ] as const) {
      expectProblem(
        await site.ask(method, path, { key: poor, ...(method === 'GET' ? {} : { raw: '{' }) }),
        'FORBIDDEN',
      );
    }
    // Nothing once it is revoked.
    const list = await site.admin('GET', '/keys');
    const { id } = list.body.items.find((row: { scopes: string[] }) => row.scopes.join() === 'case:read');
    expect((await site.admin('DELETE', `/keys/${id}`)).status).toBe(204);
    expectProblem(await site.ask('GET', `/v1/cases/${caseId}`, { key: poor }), 'UNAUTHENTICATED');
    await until(() => site.logLines.length > 0);
  });
});
