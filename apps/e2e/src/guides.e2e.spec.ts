import { execFile, spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { askGate, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import { riskSetup, type RiskSetup } from './harness/risk-setup.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0;
if (!hasPython) process.stderr.write('SKIPPED: the Python of the guides; there is no python3 with cryptography.\n');
const languages = [
  ['ts', 'TypeScript', true],
  ['python', 'Python', hasPython],
  ['sh', 'curl', true],
] as const;
const storyTimeoutMs = 60_000;

/** Within the checkout, where programs find the client and `npx` the verifier. */
let folder: string;
beforeAll(() => {
  mkdirSync(join(root, 'tmp'), { recursive: true });
  folder = mkdtempSync(join(root, 'tmp/guides-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs what a guide shows in a language, as it stands there, and gives what it printed. */
async function runs(guide: string, language: string, env: Readonly<Record<string, string>>): Promise<string> {
  const text = readFileSync(join(root, 'infra/guides', guide), 'utf8');
  const [, code] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(text) ?? [];
  if (code === undefined) throw new Error(`${guide} shows nothing in ${language}.`);
  const file = join(folder, `${guide}.${{ ts: 'mts', python: 'py', sh: 'sh' }[language]!}`);
  writeFileSync(file, code);
  const program = { ts: process.execPath, python: 'python3', sh: 'sh' }[language]!;
  const parameters = language === 'sh' ? ['-eu', file] : [file];
  const { stdout } = await run(program, parameters, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
  });
  return stdout;
}

describe('the guide for senders', () => {
  let setup: ContractSetup;
  let env: Record<string, string>;
  beforeAll(async () => {
    setup = await contractSetup();
    const SEALGATE_NETWORK = await setup.newNetwork();
    const { rawKey } = await setup.newKey(SEALGATE_NETWORK);
    env = { SEALGATE_URL: setup.gateway.public.origin, SEALGATE_KEY: rawKey, SEALGATE_NETWORK };
  }, setupTimeoutMs);
  afterAll(() => setup.stop(), setupTimeoutMs);

  it(
    'writes one record in all of its languages together',
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
});

describe('the guide for partners', () => {
  let postgres: ThrowawayPostgres;
  let setup: RiskSetup;
  let env: Record<string, string>;
  const ids: string[] = [];
  beforeAll(async () => {
    postgres = await throwawayPostgres();
    const key = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
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

describe('the guide for venues', () => {
  let postgres: ThrowawayPostgres;
  let setup: GateSetup;
  let env: Record<string, string>;
  beforeAll(async () => {
    postgres = await throwawayPostgres();
    // The guides give the gate a second; a busy machine that has just started the process may need longer for the first.
    setup = await gateSetup({ postgres });
    const SUBJECT = `subj_${randomBytes(8).toString('hex')}`;
    const post = (path: string, idempotencyKey: string, body?: unknown) =>
      askGate(setup, ['POST', `/v1/cases${path}`], { idempotencyKey, ...(body !== undefined && { body }) });
    const { case_id } = (await post('', SUBJECT, { subject_ref: SUBJECT, venue_ids: ['hall'] })).body;
    await post(`/${String(case_id)}/decide`, 'decide', { policy_version: 'p1', decision: 'approve' });
    await post(`/${String(case_id)}/seal`, `${String(case_id)}:p1`);
    await askGate(setup, ['POST', '/v1/gate/check'], { body: { subject_ref: SUBJECT, venue_id: 'hall' } });
    env = { SEALGATE_URL: setup.gate.public.origin, SEALGATE_KEY: setup.key, SUBJECT, VENUE: 'hall' };
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await postgres.stop();
  }, setupTimeoutMs);

  for (const [language, name, isThere] of languages)
    (isThere ? it : it.skip)(
      `opens for who may enter and for nobody else, in ${name}`,
      async () => {
        expect(await runs('keep-a-door.md', language, env)).toMatch(/^ALLOW/);
        expect(await runs('keep-a-door.md', language, { ...env, VENUE: 'cellar' })).toMatch(/^DENY/);
        expect(await runs('keep-a-door.md', language, { ...env, SEALGATE_KEY: 'gk_no' })).toMatch(/^DENY/);
        // Nobody listens there; curl says so and ends with an error, which keeps the door shut as well.
        const away = runs('keep-a-door.md', language, { ...env, SEALGATE_URL: 'http://127.0.0.1:1' });
        expect(await away.catch(() => 'DENY')).toMatch(/^DENY/);
      },
      storyTimeoutMs,
    );
});
