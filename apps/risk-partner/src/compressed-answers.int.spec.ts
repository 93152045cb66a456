import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashedBytesOf, verifyDetached, type Jwks, type PartnerEnvelope } from '@sealgate/envelope';
import { canonical } from '@sealgate/json';
import { rowsOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let write: ReturnType<typeof rowsOf>;
let owner: TestPerson;
let partner: TestPerson;

beforeAll(async () => {
  service = await testInstallation();
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  partner = await service.newPerson(orgId, ['partner_read']);
  write = rowsOf(service, owner);
  for (let count = 0; count < 4; count += 1) await write.asset({ name: 'Zürich edge — «€» 😀' });
}, 120_000);
afterAll(() => service.stop());

const keySet = async (): Promise<Jwks> => (await service.api.get('/.well-known/jwks.json')).json as Jwks;

describe('responses over 1,024 bytes', () => {
  // `fetch` decompresses, as other clients do.
  const ask = (path: string, key: string, acceptEncoding: string) =>
    fetch(service.url + path, { headers: { authorization: `Bearer ${key}`, 'accept-encoding': acceptEncoding } });

  it.each(['br', 'gzip'])(
    'are sent as %s if accepted; hash and signature are over the uncompressed bytes',
    async (coding) => {
      const answer = await ask('/api/v1/assets', partner.key, coding);
      expect(answer.headers.get('content-encoding')).toBe(coding);
      expect(answer.headers.get('vary')).toBe('Authorization, Accept-Encoding');
      const text = await answer.text();
      expect(text.length).toBeGreaterThan(1024);
      const envelope = JSON.parse(text) as PartnerEnvelope;
      expect(text).toBe(canonical(envelope));
      const signature = String(answer.headers.get('evidence-signature'));
      expect(verifyDetached(hashedBytesOf(envelope), signature, await keySet()).ok).toBe(true);
      const etag = String(answer.headers.get('etag'));
      const plain = await ask('/api/v1/assets', partner.key, 'identity');
      expect([plain.headers.get('etag'), plain.headers.get('vary')]).toEqual([etag, answer.headers.get('vary')]);
      const known = await service.api.get('/api/v1/assets', partner.key, { 'if-none-match': etag });
      expect([known.status, known.headers.vary]).toEqual([304, answer.headers.get('vary')]);
    },
  );

  it.each(['/api/v1/openapi.json', '/api/v1/docs', '/api/assets'])('are compressed at %s too', async (path) => {
    const answer = await ask(path, owner.key, 'gzip, deflate, br');
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    const plain = await ask(path, owner.key, 'identity');
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, await answer.text()]);
  });

  it('are compressed at /mcp, but not for a record with a strong ETag for If-Match', async () => {
    const headers = {
      authorization: `Bearer ${owner.key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'accept-encoding': 'br',
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const tools = await fetch(`${service.url}/mcp`, { method: 'POST', headers, body });
    expect([tools.headers.get('content-encoding'), tools.headers.get('vary')]).toEqual([
      'br',
      'Origin, Accept-Encoding',
    ]);
    expect(await tools.json()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
    const policy = await write.policy({ body: 'All of it. '.repeat(200) });
    const one = await ask(`/api/policies/${policy.id}`, owner.key, 'br');
    expect(one.headers.get('etag')).toMatch(/^"\d+"$/);
    expect([one.headers.get('content-encoding'), one.headers.get('vary')]).toEqual([null, null]);
    expect((await one.text()).length).toBeGreaterThan(1024);
  });
});
