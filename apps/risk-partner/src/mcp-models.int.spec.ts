import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalHash } from '@sealgate/json';
import { documentSigner, generateDocumentKey, hashedBytesOf } from '@sealgate/envelope';
import { until } from '@sealgate/testing';
import { approvedEvidence, listOf, rowsOf, type Made } from './testing/demo-rows.ts';
import { callTool } from './testing/http-caller.ts';
import { CLIENT_KINDS, mcpClient } from './testing/mcp-clients.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let owner: TestPerson;
let partner: TestPerson;
let viewer: TestPerson;
let frameworkId: string;
let control: Made;
let evidence: Made;
let hiddenEvidence: Made;

beforeAll(async () => {
  service = await testInstallation();
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  const admin = await service.newPerson(orgId, ['admin']);
  partner = await service.newPerson(orgId, ['partner_read']);
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  frameworkId = await service.newFramework(orgId, ['A.1', 'A.2']);
  const write = rowsOf(service, owner);
  control = await write.control({ refId: 'C-1', frameworkRefs: [{ frameworkId, requirementId: 'A.1' }] });
  await write.control({ refId: 'C-2' });
  evidence = await approvedEvidence(service, [owner, admin], { department: 'ops', controlIds: [control.id] });
  hiddenEvidence = await approvedEvidence(service, [owner, admin], { department: 'legal' });
  await until(async () => (await listOf(service, owner.key, '/api/v1/proofs')).items.length === 2, {
    what: 'two proofs',
    timeoutMs: 20_000,
  });
}, 120_000);
afterAll(() => service.stop());

const call = async (person: TestPerson, name: string, args: Readonly<Record<string, unknown>> = {}) =>
  (await callTool(service.api, person.key, name, args)).content;

describe('verify_envelope', () => {
  const verify = (args: Readonly<Record<string, unknown>>) => call(viewer, 'verify_envelope', args);
  const refused = (reason: string) => ({ valid: false, signedBy: null, reason });
  let envelope: Record<string, unknown>;
  let signature: string;
  beforeAll(async () => {
    const answer = await service.api.get('/api/v1/evidence?limit=1', partner.key);
    envelope = answer.json as Record<string, unknown>;
    signature = String(answer.headers['evidence-signature']);
  });

  it('is valid only with a signature by a listed key', async () => {
    const { keys } = (await service.api.get('/.well-known/jwks.json')).json as { keys: [{ kid: string }] };
    expect(await verify({ envelope, signature })).toEqual({ valid: true, signedBy: keys[0].kid, reason: null });
    for (const args of [{ envelope }, { envelope, signature: null }])
      expect(await verify(args)).toEqual(refused('not_signed'));
  });

  it('is not valid for a forgery whose hash the forger computed', async () => {
    const { evidence_hash: _hash, ...rest } = { ...envelope, items: [], orgId: 'org_invented', evidence_hash: '' };
    const forged = { ...rest, evidence_hash: canonicalHash(rest) };
    expect(await verify({ envelope: forged })).toEqual(refused('not_signed'));
    expect(await verify({ envelope: forged, signature })).toEqual(refused('bad_signature'));
    const stranger = documentSigner(generateDocumentKey());
    const byStranger = stranger.sign(hashedBytesOf(forged));
    expect(await verify({ envelope: forged, signature: byStranger })).toEqual(refused('unknown_key'));
  });

  it('tells what is wrong with the others', async () => {
    const changed = { ...envelope, orgId: 'org_x' };
    for (const args of [{ envelope: changed }, { envelope: changed, signature }, { envelope: {} }])
      expect(await verify(args)).toEqual(refused('hash_mismatch'));
    expect(await verify({ envelope, signature: 'a..b' })).toEqual(refused('bad_signature'));
    expect(await verify({ envelope, signature: '' })).toEqual(refused('bad_signature'));
    const other = await service.api.get('/api/v1/controls?limit=1', partner.key);
    expect(await verify({ envelope: other.json, signature })).toEqual(refused('bad_signature'));
    expect(await verify({})).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
    expect(await verify({ envelope: null })).toMatchObject({ errors: [{ in: 'arguments', pointer: '/envelope' }] });
    const unknown = { code: 'UNKNOWN_PARAMETER', errors: [{ in: 'arguments', pointer: '/more~1less' }] };
    expect(await verify({ envelope, 'more/less': 1 })).toMatchObject(unknown);
  });
});

describe.each(CLIENT_KINDS)('an agent with the client %s', (kind) => {
  it('passes an envelope on with the signature of its result', async () => {
    const client = await mcpClient(service.url, viewer.key, kind);
    await client.listTools();
    const calls = [
      { name: 'list_evidence', arguments: {} },
      { name: 'get_coverage', arguments: { cursor: '', state: null } },
      { name: 'get_evidence', arguments: { id: evidence.id } },
    ];
    for (const one of calls) {
      const { structuredContent: envelope, _meta: meta } = await client.callTool(one);
      const args = { envelope, signature: meta?.['evidenceSignature'] };
      const { structuredContent } = await client.callTool({ name: 'verify_envelope', arguments: args });
      expect(structuredContent).toEqual({ valid: true, signedBy: expect.any(String), reason: null });
    }
    const { _meta: ofResource } = await client.readResource({ uri: `evidence://${evidence.id}` });
    expect(ofResource?.['evidenceSignature']).toMatch(/^[\w-]+\.\.[\w-]+$/);
    const { _meta: ofError } = await client.callTool({ name: 'get_evidence', arguments: { id: 'evd_none' } });
    expect(ofError?.['evidenceSignature']).toBeUndefined();
    await client.close();
  }, 30_000);

  it('gets a reference with several rows, a control, and requirement titles', async () => {
    const client = await mcpClient(service.url, partner.key, kind);
    await client.listTools();
    const found = await client.callTool({ name: 'get_control', arguments: { refId: 'C-1' } });
    expect(found.structuredContent).toMatchObject({ item: { id: control.id, refId: 'C-1' } });
    const { structuredContent } = await client.callTool({
      name: 'get_coverage',
      arguments: { framework: frameworkId },
    });
    const { items } = structuredContent as { items: Made[] };
    expect(items.map(({ requirementTitle }) => requirementTitle)).toEqual(['Requirement A.1', 'Requirement A.2']);
    await client.close();
  }, 30_000);
});

describe('an id that names nothing the caller may see', () => {
  const normal = (text: string) => text.replaceAll(/urn:request:[^"]+/g, '*');

  it('is NOT_FOUND and names the parameter, the same for a hidden and a missing row', async () => {
    const hidden = await service.api.get(`/api/v1/proofs?subjectId=${hiddenEvidence.id}`, viewer.key);
    const missing = await service.api.get('/api/v1/proofs?subjectId=evd_none', viewer.key);
    expect([hidden.status, missing.status]).toEqual([404, 404]);
    expect(missing.json).toMatchObject({ code: 'NOT_FOUND', errors: [{ in: 'query', pointer: '/subjectId' }] });
    expect(normal(hidden.text)).toBe(normal(missing.text));
    const asked = { framework: 'fwk_nope', state: 'gap' };
    const errors = [{ in: 'arguments', pointer: '/framework', detail: expect.any(String) }];
    expect(await call(viewer, 'get_coverage', asked)).toMatchObject({ code: 'NOT_FOUND', status: 404, errors });
  });

  it('is not taken for a row of another organisation or kind', async () => {
    const stranger = await service.newPerson(await service.newOrg('Other'), ['owner']);
    for (const path of [
      `/api/v1/coverage?framework=${frameworkId}`,
      `/api/v1/controls?framework=${frameworkId}`,
      `/api/v1/evidence?controlId=${control.id}`,
      `/api/v1/proofs?subjectId=${evidence.id}`,
      `/api/controls?framework=${frameworkId}`,
      `/api/evidence?controlId=${control.id}`,
    ]) {
      expect([path, (await service.api.get(path, stranger.key)).status]).toEqual([path, 404]);
      expect([path, (await service.api.get(path, owner.key)).status]).toEqual([path, 200]);
    }
    expect((await service.api.get(`/api/v1/evidence?controlId=${evidence.id}`, owner.key)).status).toBe(404);
  });

  it('is told apart from a row without items, which is an empty list, and comes after faults of shape', async () => {
    const [, second] = (await listOf(service, owner.key, '/api/v1/controls')).items;
    const empty = await listOf(service, owner.key, `/api/v1/evidence?controlId=${second!.id}`);
    expect(empty.items).toEqual([]);
    expect((await service.api.get('/api/v1/evidence?controlId=ctl_none&limit=0', owner.key)).status).toBe(400);
    expect((await service.api.get('/api/v1/evidence?controlId=ctl_none&cursor=x', owner.key)).status).toBe(400);
  });

  it('filters proofs by their evidence', async () => {
    const { items } = await listOf(service, owner.key, `/api/v1/proofs?subjectType=evidence&subjectId=${evidence.id}`);
    expect(items.map(({ subjectId }) => subjectId)).toEqual([evidence.id]);
  });
});

describe('a row is found by its refId', () => {
  it('as refId or as id; one of several visible rows is refused with their ids', async () => {
    const write = rowsOf(service, owner);
    const first = await write.risk({ refId: 'R-7', department: 'ops' });
    const asset = await write.asset({ refId: 'A-7', department: 'ops' });
    for (const args of [{ refId: 'R-7' }, { id: 'R-7' }, { id: first.id }, { id: first.id, refId: null }])
      expect(await call(viewer, 'get_risk', args)).toMatchObject({ item: { id: first.id } });
    expect(await call(viewer, 'get_asset', { refId: 'A-7' })).toMatchObject({ item: { id: asset.id } });
    // A hidden row changes nothing.
    const hidden = await write.risk({ refId: 'R-7', department: 'legal' });
    expect(await call(viewer, 'get_risk', { refId: 'R-7' })).toMatchObject({ item: { id: first.id } });
    const refused = await call(owner, 'get_risk', { refId: 'R-7' });
    expect(refused).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ in: 'arguments', pointer: '/refId' }] });
    for (const { id } of [first, hidden]) expect(refused['detail']).toContain(id);
    // An id wins over a refId.
    await write.risk({ refId: first.id, department: 'ops' });
    expect(await call(viewer, 'get_risk', { id: first.id })).toMatchObject({ item: { id: first.id } });
  });

  it('and refused where it names none, or beside an id', async () => {
    const none = { code: 'NOT_FOUND', status: 404 };
    const impossible = [
      { refId: '' },
      { refId: '\u0000' },
      { id: '\u0000' },
      { id: 'a\nb' },
      { refId: 'x'.repeat(1000) },
    ];
    for (const args of [{ refId: 'R-none' }, { id: 'R-none' }, ...impossible])
      expect(await call(owner, 'get_risk', args)).toMatchObject(none);
    expect(await call(viewer, 'get_risk', { refId: hiddenEvidence.id })).toMatchObject(none);
    for (const args of [{}, { id: null, refId: null }, { id: 'a', refId: 'b' }, { refId: 7 }])
      expect(await call(owner, 'get_risk', args)).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
    expect((await service.api.get('/api/v1/risks/R-7', owner.key)).status).toBe(404);
  });
});

it('a look-up by refId that the database does not answer is UNAVAILABLE, as any other', async () => {
  await service.sql.transaction(
    async (sql) => {
      await sql.query({ text: 'LOCK TABLE risk.resources IN ACCESS EXCLUSIVE MODE' });
      const refused = await call(owner, 'get_risk', { refId: 'R-7' });
      expect(refused).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    },
    { deadlineMs: 20_000 },
  );
}, 30_000);

describe('a page without limit', () => {
  it('has as many of the first fifty items as fit in 60,000 bytes, and its cursor goes on by REST', async () => {
    const org = await service.newOrg('Wide');
    const person = await service.newPerson(org, ['owner']);
    const write = rowsOf(service, person);
    const title = (index: number) => `${String(index).padStart(3, '0')} ${'"\\ü'.repeat(60)}`.slice(0, 200);
    const made: Made[] = [];
    for (let index = 0; index < 60; index += 1) made.push(await write.risk({ title: title(index) }));
    const post = async (args: object) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_risks', arguments: args } };
      const answer = await service.api.send('POST', '/mcp', { key: person.key, body });
      const { result } = answer.json as {
        result: { structuredContent: { items: Made[]; pagination: { count: number; nextCursor: string | null } } };
      };
      return { bytes: Buffer.byteLength(answer.text), ...result.structuredContent };
    };
    const first = await post({});
    expect(first.bytes).toBeLessThanOrEqual(60_000);
    expect(first.bytes).toBeGreaterThan(54_000);
    expect(first.items.length).toBeLessThan(50);
    expect(first.pagination).toMatchObject({ limit: 50, count: first.items.length });
    const rest = await listOf(service, person.key, `/api/v1/risks?limit=200&cursor=${first.pagination.nextCursor}`);
    expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(made.map(({ id }) => id));
    const asked = await post({ limit: 50 });
    expect(asked.items).toHaveLength(50);
    expect(asked.bytes).toBeGreaterThan(60_000);
    let cursor: string | null = null;
    const walked: string[] = [];
    do {
      const page = await post({ cursor });
      expect(page.bytes).toBeLessThanOrEqual(60_000);
      walked.push(...page.items.map(({ id }) => id));
      cursor = page.pagination.nextCursor;
    } while (cursor !== null);
    expect(walked).toEqual(made.map(({ id }) => id));
  }, 60_000);
});
