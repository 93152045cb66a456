import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashedBytesOf, verifyDetached, type Jwks, type PartnerEnvelope } from '@sealgate/envelope';
import { canonical, sha256, type JsonValue } from '@sealgate/json';
import { noteVerifier, parseCheckpoint, verifyInclusion } from '@sealgate/merkle';
import { expectProblem, until } from '@sealgate/testing';
import { approvedEvidence, listOf, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let orgId: string;
let owner: TestPerson;
let admin: TestPerson;
let partner: TestPerson;
let viewer: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  admin = await service.newPerson(orgId, ['admin']);
  partner = await service.newPerson(orgId, ['partner_read']);
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  const frameworkId = await service.newFramework(orgId, ['A.1', 'A.2']);
  const write = rowsOf(service, owner);
  const control = await write.control({ frameworkRefs: [{ frameworkId, requirementId: 'A.1' }] });
  const evidence = await approvedEvidence(service, [owner, admin], { controlIds: [control.id], department: 'ops' });
  for (let count = 0; count < 3; count += 1) {
    await write.risk({ department: 'ops', residual: { likelihood: 1, impact: 2 }, evidenceIds: [evidence.id] });
    await write.asset({ department: 'ops', name: 'Zürich edge — «€» 😀' });
  }
  await write.policy({ title: 'Körper', body: 'Geheim' });
  await until(async () => (await listOf(service, partner.key, '/api/v1/proofs')).items.length > 0, {
    what: 'the proof',
    timeoutMs: 20_000,
  });
}, 120_000);
afterAll(() => service.stop());

/** The members of each item, from the contract. */
const MEMBERS: Readonly<Record<string, string>> = {
  assets:
    'id, refId, name, type, criticality, dataClassification, environment, status, controlIds, createdAt, updatedAt',
  risks:
    'id, refId, title, category, status, inherent, current, residual, treatment, acceptanceExpiresAt, acceptanceStale, reviewStatus, nextReviewAt, controlIds, createdAt, updatedAt',
  evidence:
    'id, title, kind, state, sha256, sizeBytes, mediaType, version, effectiveAt, receivedAt, validUntil, controlIds, ledgerRecordId, createdAt, updatedAt',
  controls: 'id, refId, title, status, frameworkRefs, lastTestedAt, testResult, evidenceCount, createdAt, updatedAt',
  policies: 'id, title, version, status, bodySha256, approvedAt, effectiveAt, nextReviewAt, createdAt, updatedAt',
  frameworks: 'id, name, version, requirementCount, createdAt',
  coverage: 'id, frameworkId, requirementId, requirementTitle, state, controlIds, evidenceIds, freshestEvidenceAt',
  proofs:
    'id, subjectType, subjectId, sha256, ledgerRecordId, channel, index, leafHash, treeSize, inclusionPath, checkpoint, sealedAt',
  snapshots: 'id, createdAt, rowCounts, expiresAt',
};
const COLLECTIONS = Object.keys(MEMBERS);

const keySet = async (): Promise<Jwks> => (await service.api.get('/.well-known/jwks.json')).json as Jwks;

describe.each(COLLECTIONS)('/api/v1/%s', (name) => {
  const path = `/api/v1/${name}`;

  it('is an envelope of items with exactly the documented members, canonical, hashed and signed', async () => {
    const answer = await service.api.get(path, partner.key);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    const envelope = answer.json as PartnerEnvelope & { items: Made[] };
    const atSnapshot = name === 'coverage' || name === 'proofs';
    expect(Object.keys(envelope)).toEqual([
      'contractVersion',
      'evidence_hash',
      'generatedAt',
      'items',
      'orgId',
      'pagination',
      ...(atSnapshot ? ['snapshotId'] : []),
      'verified_no_npi',
    ]);
    expect(envelope).toMatchObject({ contractVersion: 'svc.partner.v1', orgId, verified_no_npi: true });
    expect(envelope['pagination']).toEqual({ limit: 50, count: envelope.items.length, nextCursor: null });
    expect(envelope.items.length).toBeGreaterThan(0);
    for (const item of envelope.items) expect(Object.keys(item).sort()).toEqual(MEMBERS[name]!.split(', ').sort());
    expect(answer.text).toBe(canonical(envelope));
    const { evidence_hash: hash, ...rest } = envelope;
    expect(sha256(canonical(rest as unknown as JsonValue)).toString('hex')).toBe(hash);
    const verdict = verifyDetached(
      hashedBytesOf(envelope),
      String(answer.headers['evidence-signature']),
      await keySet(),
    );
    expect(verdict.ok).toBe(true);
  });

  it('serves single items, with the same caching', async () => {
    const [item] = (await listOf(service, partner.key, path)).items;
    const answer = await service.api.get(`${path}/${item!.id}`, partner.key);
    expect(answer.json).toMatchObject({ item, verified_no_npi: true });
    expect(answer.json).not.toHaveProperty('items');
    expect(answer.json).not.toHaveProperty('pagination');
    for (const one of [path, `${path}/${item!.id}`]) {
      const get = await service.api.get(one, partner.key);
      const vary = 'Authorization, Accept-Encoding';
      expect(get.headers).toMatchObject({ 'cache-control': 'private, no-cache', vary });
      // generatedAt and the hash differ between responses, so the ETag is weak and compared weakly.
      expect(get.headers.etag).toMatch(/^W\/"[\w-]{43}"$/);
      const strong = String(get.headers.etag).slice(2);
      for (const known of [`"x", ${get.headers.etag}`, strong, ` W/"y" ,${strong},`, '*', ' * ']) {
        const again = await service.api.get(one, partner.key, { 'if-none-match': known });
        expect([known, again.status, again.text, again.headers.etag]).toEqual([known, 304, '', get.headers.etag]);
      }
      for (const other of ['"x"', strong.slice(1, -1), `"${strong}"`, '', 'W/"*"']) {
        const fresh = await service.api.get(one, partner.key, { 'if-none-match': other });
        expect([other, fresh.status, fresh.headers.etag]).toEqual([other, 200, get.headers.etag]);
      }
      const head = await service.api.send('HEAD', one, { key: partner.key });
      expect([head.status, head.text, head.headers.etag]).toEqual([200, '', get.headers.etag]);
      expect((await service.api.get(one, undefined, { 'if-none-match': String(get.headers.etag) })).status).toBe(401);
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const refused = await service.api.send(method, one, { key: partner.key });
        expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD']);
      }
    }
  });

  it('refuses invalid requests in the order of the contract', async () => {
    const code = async (query: string) => {
      const { json, ...rest } = await service.api.get(`${path}?${query}`, partner.key);
      const wanted = (json as { code: string }).code;
      expectProblem({ ...rest, body: json }, wanted, {});
      return wanted;
    };
    expect(await code('colour=red&limit=0&cursor=x')).toBe('UNKNOWN_PARAMETER');
    expect(await code('limit=0&cursor=x')).toBe('INVALID_LIMIT');
    for (const limit of ['0', '201', '-1', '1.0', '', '+1', '1e2', '99999'])
      expect(await code(`limit=${limit}`)).toBe('INVALID_LIMIT');
    for (const cursor of ['', 'x', '%20', 'a'.repeat(513)])
      expect(await code(`cursor=${cursor}`)).toBe('INVALID_CURSOR');
    const wrong: Readonly<Record<string, string>> = {
      assets: 'criticality=huge',
      risks: 'level=awful',
      evidence: 'state=burnt',
      controls: 'status=maybe',
      policies: 'status=maybe',
      coverage: 'state=maybe',
      proofs: 'subjectType=risk',
    };
    const filter = wrong[name];
    if (filter === undefined) return;
    expect(await code(filter)).toBe('INVALID_REQUEST');
    expect(await code(`${filter}&cursor=x`)).toBe('INVALID_CURSOR');
    expect(await code(`${filter}&limit=0`)).toBe('INVALID_LIMIT');
  });
});

describe('filters', () => {
  it('updatedSince is inclusive and accepts an offset; an invalid time is refused', async () => {
    const all = (await listOf(service, partner.key, '/api/v1/risks')).items;
    const last = all
      .map(({ updatedAt }) => String(updatedAt))
      .sort()
      .at(-1)!;
    const since = async (time: string) =>
      (await listOf(service, partner.key, `/api/v1/risks?updatedSince=${encodeURIComponent(time)}`)).items.length;
    expect(await since(last)).toBe(1);
    expect(await since(new Date(Date.parse(last) + 1).toISOString())).toBe(0);
    expect(await since('2020-01-01T00:00:00+02:00')).toBe(all.length);
    // Cut down, never rounded up: a client that kept nanoseconds misses nothing.
    expect(await since(last.replace('Z', '999999z').replace('T', 't'))).toBe(1);
    const answer = await service.api.get('/api/v1/risks?updatedSince=yesterday', partner.key);
    expect(answer.json).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ in: 'query', pointer: '/updatedSince' }] });
  });

  it('return only matching items', async () => {
    const write = rowsOf(service, owner);
    const control = await write.control({ status: 'implemented' });
    const evidence = await write.evidence({ controlIds: [control.id] });
    const ids = async (query: string) =>
      (await listOf(service, partner.key, `/api/v1/${query}`)).items.map(({ id }) => id);
    expect(await ids(`evidence?controlId=${control.id}&state=collected`)).toEqual([evidence.id]);
    expect(await ids(`evidence?controlId=${control.id}&state=approved`)).toEqual([]);
    expect(await ids('controls?status=implemented')).toEqual([control.id]);
    const asset = await write.asset({ type: 'data store', criticality: 'critical' });
    expect(await ids('assets?type=data%20store&criticality=critical')).toEqual([asset.id]);
    // A filter is a literal value, whatever it looks like.
    expect(await ids(`assets?type=${encodeURIComponent("' OR 1=1 --")}`)).toEqual([]);
    expect(await ids('risks?category=status:identified')).toEqual([]);
  });
});

describe('a cursor', () => {
  it('is bound to one person, collection and set of filters, and carries no rights', async () => {
    const page = await listOf(service, viewer.key, '/api/v1/risks?limit=1&level=medium');
    const cursor = page.pagination.nextCursor!;
    const code = async (path: string, key = viewer.key) =>
      ((await service.api.get(`${path}cursor=${cursor}`, key)).json as { code?: string }).code ?? 'fine';
    expect(await code('/api/v1/risks?level=medium&')).toBe('fine');
    expect(await code('/api/v1/risks?limit=200&level=medium&')).toBe('fine');
    expect(await code('/api/v1/risks?')).toBe('INVALID_CURSOR');
    expect(await code('/api/v1/risks?level=low&')).toBe('INVALID_CURSOR');
    expect(await code('/api/v1/assets?')).toBe('INVALID_CURSOR');
    expect(await code('/api/risks?')).toBe('INVALID_CURSOR');
    expect(await code('/api/v1/risks?level=medium&', partner.key)).toBe('INVALID_CURSOR');
    await service.admin('PUT', `/orgs/${orgId}/people/${viewer.id}/roles`, { roles: [] });
    expect(await code('/api/v1/risks?level=medium&')).toBe('FORBIDDEN');
    await service.admin('PUT', `/orgs/${orgId}/people/${viewer.id}/roles`, { roles: ['viewer'] });
    service.skewMs += 86_400_000;
    expect(await code('/api/v1/risks?level=medium&')).toBe('INVALID_CURSOR');
    service.skewMs -= 86_400_000;
  });
});

describe('content that an outsider can verify', () => {
  it('does not verify after a change of any byte', async () => {
    const answer = await service.api.get('/api/v1/risks?limit=1', partner.key);
    const signature = String(answer.headers['evidence-signature']);
    const keys = await keySet();
    const bytes = hashedBytesOf(answer.json as PartnerEnvelope);
    expect(verifyDetached(bytes, signature, keys).ok).toBe(true);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = changed[at]! ^ 1;
      if (verifyDetached(changed, signature, keys).ok) throw new Error(`Byte ${at} does not count.`);
    }
  });

  it('a proof leads from its leaf to the checkpoint signed by the pinned key', async () => {
    const [proof] = (await listOf(service, partner.key, '/api/v1/proofs')).items;
    const note = String(proof!['checkpoint']);
    expect(noteVerifier(service.verifierKey).verify(note)).toBeDefined();
    const { size, root } = parseCheckpoint(note);
    expect(size).toBe(proof!['treeSize']);
    const leafHash = Buffer.from(String(proof!['leafHash']), 'hex');
    const path = (proof!['inclusionPath'] as string[]).map((hash) => Buffer.from(hash, 'hex'));
    expect(verifyInclusion({ leafHash, index: Number(proof!['index']), size, path, root })).toBe(true);
    const [evidence] = (await listOf(service, partner.key, `/api/v1/evidence?state=approved`)).items;
    expect(proof).toMatchObject({
      subjectId: evidence!.id,
      sha256: evidence!['sha256'],
      ledgerRecordId: evidence!['ledgerRecordId'],
    });
  });

  it('contains no member that partners must not see', async () => {
    for (const name of COLLECTIONS) {
      const { text } = await service.api.get(`/api/v1/${name}`, owner.key);
      expect(text).not.toMatch(/Geheim|ownerId|department|sensitive|collectedBy|per_/);
    }
  });

  it('shows null for personal data of an older version, and counts and logs it by id', async () => {
    const { id } = await rowsOf(service, owner).risk({ title: 'Harmless' });
    await service.sql.query({
      text: `UPDATE risk.resources SET item = replace(item, 'Harmless', 'Ask ada@example.org') WHERE id = $1`,
      values: [id],
    });
    const answer = await service.api.get(`/api/v1/risks/${id}`, partner.key);
    expect(answer.json).toMatchObject({ item: { id, title: null }, verified_no_npi: true });
    const { evidence_hash: hash, ...rest } = answer.json as PartnerEnvelope;
    expect(sha256(canonical(rest as unknown as JsonValue)).toString('hex')).toBe(hash);
    const line = service.logLines.find((one) => one.includes('personal_data_masked'));
    expect(line).toContain(id);
    expect(line).not.toContain('ada');
  });
});

describe('public documents', () => {
  it('include the OpenAPI description, as JSON and as HTML', async () => {
    const document = (await service.api.get('/api/v1/openapi.json')).json as { openapi: string; paths: object };
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths)).toEqual([
      ...COLLECTIONS.flatMap((name) => [`/api/v1/${name}`, `/api/v1/${name}/{id}`]),
      '/api/v1/whoami',
    ]);
    const page = await service.api.get('/api/v1/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toContain('/api/v1/risks/{id}');
  });

  it('list no key that was added with database access only', async () => {
    const strange = { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43), kid: 'old', alg: 'EdDSA', use: 'sig' };
    await service.sql.query({
      text: `INSERT INTO risk.signing_keys (kid, jwk, first_used_at) VALUES ('old', $1, '2020-01-01')`,
      values: [JSON.stringify(strange)],
    });
    // The key set is cached for a minute.
    service.skewMs += 61_000;
    const { keys } = await keySet();
    expect(keys).toHaveLength(1);
    expect(service.logLines.some((line) => line.includes('signing_keys_refused'))).toBe(true);
  });

  it.each(['/.well-known/jwks.json', '/api/v1/openapi.json', '/api/v1/docs'])(
    '%s can be cached and revalidated',
    async (path) => {
      const { headers } = await service.api.get(path);
      expect(headers).toMatchObject({ 'cache-control': 'public, max-age=60', etag: expect.stringMatching(/^W\//) });
      const again = await service.api.get(path, undefined, { 'if-none-match': String(headers.etag) });
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
      const head = await service.api.send('HEAD', path);
      expect([head.status, head.text, head.headers.etag]).toEqual([200, '', headers.etag]);
    },
  );
});
