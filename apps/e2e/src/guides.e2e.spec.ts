import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { until, type ThrowawayPostgres } from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import {
  guideFolder,
  hasPython,
  languages,
  removeFolder,
  root,
  run,
  runProgram,
  shown,
} from './harness/guide-programs.ts';
import { newDocumentKey } from './harness/new-secrets.ts';
import { riskSetup, type RiskSetup } from './harness/risk-setup.ts';

const storyTimeoutMs = 60_000;

let folder: string;
beforeAll(() => {
  folder = guideFolder();
});
afterAll(() => removeFolder(folder));

const runs = (guide: string, language: string, env: Readonly<Record<string, string>>, number = 0): Promise<string> =>
  runProgram(folder, { guide, language, number }, env);

describe('the guide for senders', () => {
  let setup: ContractSetup;
  let env: Record<string, string>;
  beforeAll(async () => {
    setup = await sharedSetup();
    const SEALGATE_NETWORK = await setup.newNetwork();
    const { rawKey } = await setup.newKey(SEALGATE_NETWORK);
    env = { SEALGATE_URL: setup.gateway.public.origin, SEALGATE_KEY: rawKey, SEALGATE_NETWORK };
  }, setupTimeoutMs);
  afterAll(() => setup.stop(), setupTimeoutMs);

  it(
    'writes one record with all of its languages together',
    async () => {
      const printed = new Set<string>();
      for (const [language, , isThere] of languages) {
        if (!isThere) continue;
        const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(await runs('send-records.md', language, env)) ?? [];
        printed.add(String(id));
      }
      const channel = `/ledger/channels/${env['SEALGATE_NETWORK']!}.main/records`;
      const { items } = (await setup.admin.ask('GET', channel)) as { items: { id: string }[] };
      expect(items.map(({ id }) => id)).toEqual([...printed]);
    },
    storyTimeoutMs,
  );

  (hasPython ? it : it.skip)(
    'checks a tlog-proof offline in Python, and believes none that was changed',
    async () => {
      const { rawKey } = await setup.newKey(env['SEALGATE_NETWORK']!);
      const channel = `${env['SEALGATE_NETWORK']!}.main`;
      const ids = ['proof-0', 'proof-1', 'proof-2', 'proof-3', 'proof-4'];
      for (const id of ids) {
        await fetch(`${env['SEALGATE_URL']!}/${env['SEALGATE_NETWORK']!}`, {
          method: 'POST',
          headers: { 'x-api-key': rawKey, 'content-type': 'application/json' },
          body: JSON.stringify({ id, type: 'order', data: {} }),
        });
      }
      const path = (id: string) => `/ledger/channels/${channel}/records/${id}/proof`;
      const isThere = async (id: string) => (await setup.admin.get(path(id))).status === 200;
      for (const id of ids) await until(() => isThere(id), { timeoutMs: 30_000, what: `a proof of ${id}` });
      const admin = { SEALGATE_ADMIN_URL: setup.gateway.admin.origin, SEALGATE_ADMIN_TOKEN: setup.adminToken };
      const sealgate = join(root, 'tools/admin/bin/sealgate.mjs');
      const check = (text: string, key = setup.verifierKey): Promise<string> => {
        writeFileSync(join(folder, 'order.tlog-proof'), text);
        writeFileSync(join(folder, 'log.vkey'), `${key}\n`);
        return runs('send-records.md', 'python', {}, 1);
      };
      for (const id of ids) {
        const parameters = [sealgate, 'ledger', 'proof', channel, id, '--format', 'tlog-proof'];
        const { stdout: proof } = await run(process.execPath, parameters, { env: { ...process.env, ...admin } });
        expect(await check(proof)).toContain(`VERIFIED ${id} order`);
        const [, index = ''] = /^index (\d+)$/m.exec(proof) ?? [];
        const [, extra = ''] = /^extra (.+)$/m.exec(proof) ?? [];
        const other = Buffer.from(Buffer.from(extra, 'base64').toString().replace('"order"', '"Order"'));
        await expect(check(proof.replace(/^index .*$/m, `index ${Number(index) + 1}`))).rejects.toThrow();
        await expect(check(proof.replace(extra, other.toString('base64')))).rejects.toThrow(/ValueError/);
        await expect(check(proof.replace(/\n(\d+)\n/, (_all, size) => `\n${Number(size) + 1}\n`))).rejects.toThrow();
      }
    },
    2 * storyTimeoutMs,
  );
});

describe('the guide for partners', () => {
  let postgres: ThrowawayPostgres;
  let setup: RiskSetup;
  let env: Record<string, string>;
  const ids: string[] = [];
  beforeAll(async () => {
    postgres = await migratedPostgres('risk-partner');
    const key = newDocumentKey();
    setup = await riskSetup(postgres, { DOCUMENT_SIGNING_KEY: key });
    const { key: owner } = await setup.newPerson(['owner']);
    const { key: partner } = await setup.newPerson(['partner_read'], { kind: 'machine' });
    const { origin } = setup.processes[0]!.public;
    env = { SEALGATE_URL: origin, SEALGATE_KEY: partner };
    for (const name of ['ship', 'crane', 'Kran für Güter']) {
      const created = await fetch(`${origin}/api/assets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name, type: 'system', criticality: 'low' }),
      });
      ids.push(((await created.json()) as { id: string }).id);
    }
    writeFileSync(join(folder, 'pinned.jwks.json'), await (await fetch(`${origin}/.well-known/jwks.json`)).text());
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await postgres.stop();
  }, setupTimeoutMs);

  for (const [language, name, isThere] of languages)
    (isThere ? it : it.skip)(
      `reads and checks in ${name}`,
      async () => {
        const printed = await runs('read-as-a-partner.md', language, env);
        if (language === 'sh') expect(printed).toContain('VERIFIED');
        else expect(printed.trim().split('\n').sort()).toEqual([...ids].sort());
      },
      storyTimeoutMs,
    );

  (hasPython ? it : it.skip)(
    'checks what curl saved offline in Python, and nothing that was changed',
    async () => {
      await runs('read-as-a-partner.md', 'sh', env);
      expect(await runs('read-as-a-partner.md', 'python', {}, 1)).toMatch(/^VERIFIED org_\S+ \S+ 3 items\n$/);
      const file = join(folder, 'assets.json');
      const saved = readFileSync(file, 'utf8');
      writeFileSync(file, saved.replace('"ship"', '"shop"'));
      await expect(runs('read-as-a-partner.md', 'python', {}, 1)).rejects.toThrow(/ValueError/);
    },
    storyTimeoutMs,
  );

  it(
    'provides the MCP tools to a program, and to every client by its configuration file',
    async () => {
      const printed = await runs('use-mcp.md', 'ts', env);
      const [tools = '', ...listed] = printed.trim().split('\n');
      expect(tools.split(' ')).toContain('list_assets');
      expect(listed.sort()).toEqual([...ids].sort());
      const files = shown('use-mcp.md', 'json').map((text) => JSON.parse(text) as McpFile);
      const [toml = ''] = shown('use-mcp.md', 'toml');
      const all = files.map(({ mcpServers, servers: own }) => (mcpServers ?? own)!['sealgate']!);
      // The bridge for clients that start programs comes from npm.
      const servers = all.filter(({ url: address }) => address !== undefined);
      expect(all.length - servers.length).toBe(1);
      const [, url = ''] = /^url = "(.*)"$/m.exec(toml) ?? [];
      expect(toml).toContain('bearer_token_env_var = "SEALGATE_KEY"');
      expect(servers).toHaveLength(3);
      for (const one of [...servers, { url, headers: { Authorization: 'Bearer ${SEALGATE_KEY}' } }]) {
        const address = one.url!.replace('https://risks.example.com', env['SEALGATE_URL']!);
        const authorization = one.headers.Authorization.replace(
          /\$\{(?:env:SEALGATE_KEY|SEALGATE_KEY|input:sealgate-key)\}/,
          env['SEALGATE_KEY']!,
        );
        const client = new Client({ name: 'by-file', version: '1.0.0' });
        const requestInit = { headers: { Authorization: authorization } };
        await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
        const { structuredContent } = await client.callTool({ name: 'list_assets', arguments: {} });
        await client.close();
        expect((structuredContent as { items: unknown[] }).items).toHaveLength(3);
      }
    },
    storyTimeoutMs,
  );

  for (const [language, name, isThere] of languages)
    (isThere ? it : it.skip)(
      `takes nothing by keys that are not pinned, in ${name}`,
      async () => {
        const file = join(folder, 'pinned.jwks.json');
        const pinned = readFileSync(file, 'utf8');
        const { keys } = JSON.parse(pinned) as { keys: { x: string; kid: string }[] };
        // The same name for another key.
        const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }) as { x: string };
        writeFileSync(file, JSON.stringify({ keys: keys.map((key) => ({ ...key, x })) }));
        try {
          await expect(runs('read-as-a-partner.md', language, env)).rejects.toThrow();
        } finally {
          writeFileSync(file, pinned);
        }
      },
      storyTimeoutMs,
    );
});

/** The configuration of MCP clients; some name the outer member differently. */
interface McpFile {
  readonly mcpServers?: Readonly<Record<string, McpServer>>;
  readonly servers?: Readonly<Record<string, McpServer>>;
}
interface McpServer {
  readonly url: string | undefined;
  readonly headers: { readonly Authorization: string };
}

describe('the guide for contributors', () => {
  it(
    'runs one file of tests',
    async () => {
      const [, command = ''] = shown('change-sealgate.md', 'sh');
      const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
      const { stderr } = await run('sh', ['-euc', command], { cwd: root, env: { ...process.env, PATH: path } });
      expect(stderr).toMatch(/Test Suites: 1 passed, 1 total\nTests: +\d+ passed/);
    },
    2 * storyTimeoutMs,
  );
});
