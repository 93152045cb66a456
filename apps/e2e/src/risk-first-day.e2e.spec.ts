import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type ThrowawayPostgres } from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { askRisk, riskSetup, type RiskSetup } from './harness/risk-setup.ts';
import { verify } from './harness/verifier.ts';

interface Row {
  readonly id: string;
}
interface Envelope {
  readonly items: readonly Row[];
  readonly pagination: { readonly nextCursor: string | null };
}

let postgres: ThrowawayPostgres;
let risk: RiskSetup;
let owner: { key: string };
let viewer: { key: string };
let partner: { key: string };

beforeAll(async () => {
  postgres = await migratedPostgres('risk-partner');
  risk = await riskSetup(postgres);
  owner = await risk.newPerson(['owner']);
  viewer = await risk.newPerson(['viewer'], { scope: { departments: ['ops'] } });
  partner = await risk.newPerson(['partner_read'], { kind: 'machine' });
}, setupTimeoutMs);
afterAll(async () => {
  await risk.stop();
  await postgres.stop();
}, setupTimeoutMs);

const one = () => risk.processes[0]!;

async function write(path: string, body: object): Promise<string> {
  const made = await askRisk(one(), owner.key, ['POST', path], { body });
  expect(made.status).toBe(201);
  return String(made.body['id']);
}

describe('the first day with surface A', () => {
  it('a viewer lists risks by REST and by a tool client under one key, and sees the same rows', async () => {
    const inherent = { likelihood: 2, impact: 3 };
    for (const department of ['ops', 'legal', 'ops', null, 'ops'])
      await write('/api/risks', { title: 'A risk', category: 'security', inherent, department });
    const { body: dashboard } = await askRisk(one(), viewer.key, ['GET', '/api/risks']);
    const { body: envelope } = await askRisk(one(), viewer.key, ['GET', '/api/v1/risks']);
    const client = new Client({ name: 'first-day', version: '1.0.0' });
    const requestInit = { headers: { Authorization: `Bearer ${viewer.key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${one().public.origin}/mcp`), { requestInit }));
    const { structuredContent } = await client.callTool({ name: 'list_risks', arguments: {} });
    await client.close();
    const listed = structuredContent as Envelope;
    expect(listed.items).toEqual(envelope['items']);
    expect(listed.items).toHaveLength(3);
    expect((dashboard as unknown as Row[]).map(({ id }) => id)).toEqual(listed.items.map(({ id }) => id));
  });

  it('a partner saves each page of assets with its signature, and verifies them all after the services have stopped', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1)
      ids.push(await write('/api/assets', { name: `Asset ${count}`, type: 'system' }));
    await write('/api/assets', { name: 'Hidden', type: 'system', sensitive: true });

    const { text: keys } = await askRisk(one(), partner.key, ['GET', '/.well-known/jwks.json']);
    writeFileSync(join(risk.folder, 'pinned.jwks.json'), keys);
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages += 1) {
      const query = `limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { status, headers, text } = await askRisk(one(), partner.key, ['GET', `/api/v1/assets?${query}`]);
      expect(status).toBe(200);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
      writeFileSync(join(risk.folder, `assets-${pages}.json`), text);
      writeFileSync(join(risk.folder, `assets-${pages}.headers`), ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n'));
      const page = JSON.parse(text) as Envelope;
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.pagination.nextCursor;
    }
    expect({ pages, seen }).toEqual({ pages: 3, seen: ids });

    for (const process of risk.processes) await process.stop();
    await expect(askRisk(one(), partner.key, ['GET', '/api/v1/assets'])).rejects.toThrow();
    const judge = async (page: number, signature = page) => {
      const files = [`assets-${page}.json`, '--signature', `assets-${signature}.headers`, '--jwks', 'pinned.jwks.json'];
      return (await verify(risk.folder, 'envelope', ...files)).exitCode;
    };
    for (let page = 0; page < pages; page += 1) expect(await judge(page)).toBe(0);
    // The signature of one page does not verify another.
    expect(await judge(0, 1)).toBe(1);
  });
});
