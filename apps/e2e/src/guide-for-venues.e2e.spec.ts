import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ThrowawayPostgres } from '@sealgate/testing';
import { parse } from 'yaml';
import { migratedPostgres } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { askGate, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import { guideFolder, languages, removeFolder, runProgram, shown, written } from './harness/guide-programs.ts';

const storyTimeoutMs = 60_000;

let folder: string;
beforeAll(() => {
  folder = guideFolder();
});
afterAll(() => removeFolder(folder));

const runs = (guide: string, language: string, env: Readonly<Record<string, string>>, number = 0): Promise<string> =>
  runProgram(folder, { guide, language, number }, env);

describe('the guide for venues', () => {
  let postgres: ThrowawayPostgres;
  let setup: GateSetup;
  let env: Record<string, string>;
  beforeAll(async () => {
    postgres = await migratedPostgres('case-gate');
    // The guides allow the gate a second; on a busy machine a newly started process may need longer for the first
    // check.
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
        // Nothing listens there; curl fails, which keeps the door shut as well.
        const away = runs('keep-a-door.md', language, { ...env, SEALGATE_URL: 'http://127.0.0.1:1' });
        expect(await away.catch(() => 'DENY')).toMatch(/^DENY/);
      },
      storyTimeoutMs,
    );

  it(
    'keeps a door behind an API gateway: by a status, and shut when anything fails',
    async () => {
      const port = await freePort();
      const file = written(folder, { guide: 'keep-a-door.md', language: 'ts', number: 1 });
      const start = async (more: Readonly<Record<string, string>>) => {
        const child = spawn(process.execPath, [file], { cwd: folder, env: { ...env, PORT: String(port), ...more } });
        await new Promise((done, fail) => {
          child.stdout.once('data', done);
          child.once('exit', (code) => fail(new Error(`The door ended with ${code}.`)));
        });
        return child;
      };
      // As Envoy asks: the method and path of the request, and the allowed header.
      const asked = async (headers: Readonly<Record<string, string>>, method = 'GET') =>
        (await fetch(`http://127.0.0.1:${port}/hall/lights?on=1`, { method, headers })).status;
      const subject = { 'x-subject': env['SUBJECT']! };
      let child = await start({});
      try {
        expect([await asked(subject), await asked(subject, 'DELETE')]).toEqual([200, 200]);
        expect([await asked({}), await asked({ 'x-subject': 'subj_0123456789abcdef' })]).toEqual([403, 403]);
        child.kill();
        await once(child, 'exit');
        child = await start({ SEALGATE_URL: 'http://127.0.0.1:1' });
        expect(await asked(subject)).toBe(403);
      } finally {
        child.kill();
      }
      // The reason not to point Envoy at the gate itself.
      const denied = await askGate(setup, ['POST', '/access/v1/evaluation'], {
        body: {
          subject: { type: 'subject', id: 'subj_0123456789abcdef' },
          resource: { type: 'venue', id: 'hall' },
          action: { name: 'enter' },
        },
      });
      expect([denied.status, denied.body['decision']]).toEqual([200, false]);
      const {
        http_filters: [filter],
      } = parse(shown('keep-a-door.md', 'yaml')[0]!) as { http_filters: [EnvoyFilter] };
      expect(filter.typed_config).toMatchObject({
        failure_mode_allow: false,
        allowed_headers: { patterns: [{ exact: 'x-subject' }] },
        http_service: { server_uri: { timeout: '1s' } },
      });
    },
    storyTimeoutMs,
  );
});

interface EnvoyFilter {
  readonly typed_config: Readonly<Record<string, unknown>>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
