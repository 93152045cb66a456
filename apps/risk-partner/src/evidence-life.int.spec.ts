import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSha256, rowsOf, type Made } from './testing/demo-rows.ts';
import { refusalText } from './testing/http-caller.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let owner: TestPerson;
let admin: TestPerson;
let write: ReturnType<typeof rowsOf>;

beforeAll(async () => {
  service = await testInstallation();
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  admin = await service.newPerson(orgId, ['admin']);
  write = rowsOf(service, owner);
}, 120_000);
afterAll(() => service.stop());

const reason = { reason: 'Not legible.' };
const move = (id: string, to: string, more: object = {}, by = owner) =>
  service.api.send('POST', `/api/evidence/${id}/transitions`, { key: by.key, body: { to, ...more } });
const refused = (...sent: Parameters<typeof move>) => refusalText(move(...sent));

it('new evidence needs a fingerprint unless it is a link or only requested', async () => {
  const create = (body: object) =>
    refusalText(
      service.api.send('POST', '/api/evidence', { key: owner.key, body: { title: 't', kind: 'document', ...body } }),
    );
  expect(await create({})).toBe('400 INVALID_REQUEST /sha256');
  expect(await create({ sha256: null })).toBe('400 INVALID_REQUEST /sha256');
  expect(await create({ sha256: 'A'.repeat(64) })).toBe('400 INVALID_REQUEST /sha256');
  expect(await create({ state: 'requested', sha256: newSha256() })).toBe('400 INVALID_REQUEST /sha256');
  expect(await create({ state: 'approved', sha256: newSha256() })).toBe('400 INVALID_REQUEST /state');
  expect(await create({ kind: 'link' })).toBe('201 ');
  expect(await create({ state: 'requested' })).toBe('201 ');
  const observationPeriod = { from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' };
  expect(await create({ kind: 'link', observationPeriod })).toBe('400 INVALID_REQUEST /observationPeriod/to');
});

describe('evidence', () => {
  it('goes from requested to rejected, to a new version, to approved', async () => {
    const { id, ...requested } = await write.evidence({ state: 'requested', sha256: null });
    expect(requested).toMatchObject({ state: 'requested', collectedBy: null, receivedAt: null, version: 1 });
    expect(await refused(id, 'collected')).toBe('400 INVALID_REQUEST /sha256');
    const fingerprint = newSha256();
    const collected = (await move(id, 'collected', { sha256: fingerprint, sizeBytes: 12 })).json as Made;
    const expected = { state: 'collected', sha256: fingerprint, sizeBytes: 12, collectedBy: owner.id, version: 1 };
    expect(collected).toMatchObject(expected);
    expect(collected['receivedAt']).toBe(collected['updatedAt']);
    await move(id, 'in_review');
    expect(await refused(id, 'rejected', {}, admin)).toBe('400 INVALID_REQUEST /reason');
    expect(await refused(id, 'rejected', reason)).toBe('403 FORBIDDEN');
    const rejected = (await move(id, 'rejected', reason, admin)).json;
    expect(rejected).toMatchObject({ state: 'rejected', reviewedBy: admin.id, reviewReason: reason.reason });
    expect(await refused(id, 'collected', { sha256: fingerprint })).toBe('400 INVALID_REQUEST /sha256');
    const sha256 = newSha256();
    expect((await move(id, 'collected', { sha256 })).json).toMatchObject({
      id,
      version: 2,
      sha256,
      previousSha256: fingerprint,
      reviewedBy: null,
      receivedAt: collected['receivedAt'],
    });
    await move(id, 'in_review');
    expect((await move(id, 'approved', {}, admin)).json).toMatchObject({ state: 'approved', version: 2 });
  });

  it('that was approved stays approved until its successor is', async () => {
    const old = await write.evidence();
    await move(old.id, 'in_review');
    await move(old.id, 'approved', {}, admin);
    const next = (await move(old.id, 'collected', { sha256: newSha256() })).json as Made;
    expect(next).toMatchObject({ previousId: old.id, previousSha256: old['sha256'], version: 2, state: 'collected' });
    expect(next.id).not.toBe(old.id);
    expect(await refused(old.id, 'collected', { sha256: newSha256() })).toBe('409 INVALID_STATE_TRANSITION');
    const state = async () => ((await service.api.get(`/api/evidence/${old.id}`, owner.key)).json as Made)['state'];
    await move(next.id, 'in_review');
    expect(await state()).toBe('approved');
    await move(next.id, 'approved', {}, admin);
    expect(await state()).toBe('superseded');
  });

  // Every pair of states not in the contract is a conflict. The reviewer is not the collector.
  const LEGAL: Readonly<Record<string, readonly string[]>> = {
    requested: ['collected', 'not_applicable'],
    collected: ['in_review', 'revoked'],
    in_review: ['approved', 'rejected', 'revoked'],
    approved: ['collected', 'revoked'],
    rejected: ['collected', 'revoked'],
    revoked: [],
    not_applicable: [],
  };
  const WAY: Readonly<Record<string, readonly string[]>> = {
    requested: [],
    collected: [],
    in_review: ['in_review'],
    approved: ['in_review', 'approved'],
    rejected: ['in_review', 'rejected'],
    revoked: ['revoked'],
    not_applicable: ['not_applicable'],
  };
  const ALL = [...Object.keys(LEGAL), 'superseded', 'expiring', 'expired'];

  it.each(Object.keys(LEGAL))(
    'that is %s makes exactly the transitions of the contract',
    async (from) => {
      for (const to of ALL) {
        const isRequested = from === 'requested' || from === 'not_applicable';
        const { id } = await write.evidence(isRequested ? { state: 'requested', sha256: null } : {});
        const more = (target: string) => ({
          ...(target === 'collected' && { sha256: newSha256() }),
          ...(target === 'rejected' || target === 'revoked' ? reason : {}),
        });
        for (const step of WAY[from]!) expect((await move(id, step, more(step), admin)).status).toBe(200);
        const wanted = LEGAL[from]!.includes(to) ? '200 ' : '409 INVALID_STATE_TRANSITION';
        expect([from, to, await refused(id, to, more(to), admin)]).toEqual([from, to, wanted]);
      }
    },
    60_000,
  );

  it('refuses an unknown state, and a fingerprint in other transitions than collected', async () => {
    const { id } = await write.evidence();
    expect(await refused(id, 'burnt')).toBe('400 INVALID_REQUEST /to');
    expect(await refused(id, 'in_review', { sha256: newSha256() })).toBe('400 INVALID_REQUEST /sha256');
  });
});

describe('settled evidence', () => {
  const validUntil = () => new Date(Date.now() + service.skewMs + 40 * 86_400_000).toISOString();
  /** All members that a review covers, each with a changed value. */
  const MATERIAL: readonly object[] = [
    { title: 'Another title' },
    { sha256: newSha256() },
    { kind: 'attestation' },
    { source: 'Elsewhere' },
    { validUntil: '2099-01-01T00:00:00Z' },
    { validUntil: null },
    { controlIds: [] },
    { sizeBytes: 2 },
    { mediaType: 'text/plain' },
    { effectiveAt: '2020-01-01T00:00:00Z' },
    { collectionMethod: 'by hand' },
    { observationPeriod: { from: '2020-01-01T00:00:00Z', to: '2020-02-01T00:00:00Z' } },
    { department: 'ops', title: 'Another title' },
  ];
  const decided = async () => {
    const control = await write.control();
    const { id } = await write.evidence({
      validUntil: validUntil().replace('Z', '999999999z'),
      controlIds: [control.id],
      source: 'Scanner',
    });
    await move(id, 'in_review');
    await move(id, 'approved', {}, admin);
    return { id, control };
  };
  const patch = (id: string, body: object, by = owner) =>
    service.api.send('PATCH', `/api/evidence/${id}`, { key: by.key, headers: { 'if-match': '*' }, body });

  it.each(['approved', 'expiring', 'expired', 'superseded', 'revoked'])(
    'that is %s changes only in owner, department and sensitivity',
    async (state) => {
      const { id, control } = await decided();
      if (state === 'revoked') await move(id, 'revoked', reason);
      if (state === 'superseded') {
        const next = (await move(id, 'collected', { sha256: newSha256() })).json as Made;
        await move(next.id, 'in_review');
        await move(next.id, 'approved', {}, admin);
      }
      if (state === 'expiring') service.skewMs += 20 * 86_400_000;
      if (state === 'expired') service.skewMs += 41 * 86_400_000;
      // Anchoring happens in the background and changes these two.
      const read = async () => ({
        ...((await service.api.get(`/api/evidence/${id}`, owner.key)).json as Made &
          Record<'state' | 'title' | 'sha256', string>),
        ledgerRecordId: null,
        updatedAt: null,
      });
      const before = await read();
      expect(before.state).toBe(state);
      for (const by of [owner, admin])
        for (const body of MATERIAL)
          expect([body, await refusalText(patch(id, body, by))]).toEqual([body, '409 INVALID_STATE_TRANSITION']);
      expect(await read()).toEqual(before);
      const free = { department: 'ops', ownerId: admin.id, sensitive: true };
      // Sending the current value is no change.
      const same = { title: before.title, sha256: before.sha256, controlIds: [control.id] };
      const changed = await patch(id, { ...free, ...same });
      expect([changed.status, changed.json]).toMatchObject([200, { ...free, ...same, state }]);
    },
    60_000,
  );

  it('a transition with If-Match is 412 after the evidence was changed', async () => {
    const { id } = await write.evidence();
    await move(id, 'in_review');
    const path = `/api/evidence/${id}`;
    const read = await service.api.get(path, admin.key);
    await patch(id, { validUntil: '2099-01-01T00:00:00Z' });
    const approve = (version: string) => {
      const headers = { 'if-match': version };
      return refusalText(
        service.api.send('POST', `${path}/transitions`, { key: admin.key, headers, body: { to: 'approved' } }),
      );
    };
    expect(await approve(String(read.headers.etag))).toBe('412 PRECONDITION_FAILED');
    expect(await approve(String((await service.api.get(path, admin.key)).headers.etag))).toBe('200 ');
  });

  it('personal data in the media type is refused on every way to collect', async () => {
    const mediaType = 'text/4111111111111111';
    const { id } = await write.evidence({ state: 'requested', sha256: null });
    const refusal = '422 PERSONAL_DATA_REFUSED /mediaType';
    expect(await refusalText(patch(id, { mediaType }))).toBe(refusal);
    expect(await refused(id, 'collected', { sha256: newSha256(), mediaType })).toBe(refusal);
    expect((await service.api.get(`/api/evidence/${id}`, owner.key)).json).toMatchObject({ state: 'requested' });
  });

  it('evidence that is only collected can still be changed, except kind and fingerprint', async () => {
    const { id } = await write.evidence();
    expect(await refusalText(patch(id, { title: 'Another title', validUntil: validUntil() }))).toBe('200 ');
    expect(await refusalText(patch(id, { sha256: newSha256() }))).toBe('400 INVALID_REQUEST /sha256');
    expect(await refusalText(patch(id, { kind: 'link' }))).toBe('400 INVALID_REQUEST /kind');
  });
});
