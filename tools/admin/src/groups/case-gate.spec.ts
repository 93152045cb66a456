import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { standInApi, type StandInApi } from '../testing/stand-in-api.ts';

let api: StandInApi;
let env: Record<string, string>;
let folder: string;
beforeAll(async () => {
  api = await standInApi();
  env = { SEALGATE_ADMIN_URL: api.url, SEALGATE_ADMIN_TOKEN: 't' };
  folder = mkdtempSync(join(tmpdir(), 'sealgate-admin-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await api.close();
});
beforeEach(() => api.answer(() => ({ body: { id: 'x', rules: null, items: [], nextCursor: null } })));

const run = (line: string, ask?: () => Promise<string>): Promise<Ran> => runLine(line, { env, ask });
const sent = () => api.seen.map(({ method, path, body }) => [method, path, body === '' ? '' : JSON.parse(body)]);

describe('the groups of the case gate send exactly the given options', () => {
  it.each<[string, string, string, unknown]>([
    ['policies list --environment test', 'GET', '/policies?environment=test', ''],
    ['policies get 2030-01', 'GET', '/policies/2030-01', ''],
    ['policies create 2030-01', 'POST', '/policies', { policy_version: '2030-01' }],
    [
      'policies create p --active --environment test',
      'POST',
      '/policies',
      { policy_version: 'p', environment: 'test', status: 'active' },
    ],
    ['policies activate p --environment test', 'PATCH', '/policies/p?environment=test', { status: 'active' }],
    ['policies retire p --yes', 'PATCH', '/policies/p', { status: 'retired' }],
    ['venues list', 'GET', '/venues', ''],
    ['venues get hall', 'GET', '/venues/hall', ''],
    ['venues create hall --name Hall --inactive', 'POST', '/venues', { venue_id: 'hall', name: 'Hall', active: false }],
    ['venues change hall --active --environment test', 'PATCH', '/venues/hall?environment=test', { active: true }],
    ['subjects get subj_a', 'GET', '/subjects/subj_a', ''],
    ['subjects history subj_a --environment test', 'GET', '/subjects/subj_a/history?environment=test', ''],
    ["subjects suspend subj_a --reason 'Review 7'", 'POST', '/subjects/subj_a/suspend', { reason: 'Review 7' }],
    [
      'subjects reinstate subj_a --reason x --environment test',
      'POST',
      '/subjects/subj_a/reinstate',
      { reason: 'x', environment: 'test' },
    ],
    ['subjects revoke subj_a --reason x --yes', 'POST', '/subjects/subj_a/revoke', { reason: 'x' }],
    ['subjects unconfirmed --environment test', 'GET', '/unconfirmed-subjects?environment=test', ''],
    [
      "subjects confirm subj_a --record-version 4 --reason 'Case file' --yes",
      'POST',
      '/subjects/subj_a/confirm',
      { record_version: 4, reason: 'Case file' },
    ],
    ['gate-keys list', 'GET', '/keys', ''],
    ['gate-keys get key_1', 'GET', '/keys/key_1', ''],
    [
      'gate-keys mint --environment live --label door --scope gate:check --scope case:read --replaces key_1 --overlap-seconds 60',
      'POST',
      '/keys',
      {
        label: 'door',
        environment: 'live',
        scopes: ['gate:check', 'case:read'],
        replaces: 'key_1',
        overlapSeconds: 60,
      },
    ],
    ['decisions list --subject subj_a --decision deny', 'GET', '/decisions?subject_ref=subj_a&decision=deny', ''],
    ['decisions get gd_1', 'GET', '/decisions/gd_1', ''],
    ['decisions heads', 'GET', '/decision-heads?limit=200', ''],
    ['decisions log --process p1', 'GET', '/decision-log?process=p1&limit=200', ''],
  ])('%s', async (line, method, path, body) => {
    const { code, err } = await run(line);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(sent()).toEqual([[method, `/admin/v1${path}`, body]]);
  });

  it('decisions log prints all pages, one decision per line', async () => {
    const pages = [
      { items: [{ seq: 1 }, { seq: 2 }], nextCursor: 'c' },
      { items: [{ seq: 3 }], nextCursor: null },
    ];
    api.answer(() => ({ body: pages[api.seen.length - 1]! }));
    expect(await run('decisions log')).toEqual({ code: 0, err: '', out: '{"seq":1}\n{"seq":2}\n{"seq":3}\n' });
    expect(sent().map(([, path]) => path)).toEqual([
      '/admin/v1/decision-log?limit=200',
      '/admin/v1/decision-log?limit=200&cursor=c',
    ]);
  });

  it('gate-keys revoke, whose response has no body', async () => {
    api.answer(() => ({ status: 204 }));
    expect(await run('gate-keys revoke key_1')).toMatchObject({ code: 0, out: expect.stringContaining('is revoked') });
    expect(sent()).toEqual([['DELETE', '/admin/v1/keys/key_1', '']]);
  });

  it.each([
    ['{"rules":[],"default":{"decision":"decline","decision":"approve"}}', 'DUPLICATE_MEMBER at /default/decision'],
    ['{"rules":[{"when":{">":[{"var":"n"},9007199254740993]}}]}', 'UNSAFE_NUMBER at /rules/0/when/>/1'],
  ])('policies create rejects rules that a lax parser would change: %s', async (text, fault) => {
    const file = join(folder, 'odd.json');
    writeFileSync(file, text);
    const ran = await run(`policies create p --rules ${file}`);
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining(fault) });
    expect(sent()).toEqual([]);
  });

  it('policies create reads rules from a file', async () => {
    const rules = { rules: [], default: { decision: 'refer', reason_codes: [] } };
    const file = join(folder, 'rules.json');
    writeFileSync(file, JSON.stringify(rules));
    expect((await run(`policies create p --rules ${file}`)).code).toBe(0);
    expect(sent()).toEqual([['POST', '/admin/v1/policies', { policy_version: 'p', rules }]]);
    writeFileSync(file, '{');
    expect(await run(`policies create p --rules ${file}`)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not JSON'),
    });
    expect((await run(`policies create p --rules ${folder}/none`)).code).toBe(2);
  });
});

describe('irreversible commands', () => {
  it.each([
    'policies retire p',
    'subjects revoke subj_a --reason x',
    'subjects confirm subj_a --record-version 2 --reason x',
  ])('ask for confirmation: %s', async (line) => {
    expect((await run(line, () => Promise.resolve('no'))).code).toBe(2);
    expect((await run(line)).code).toBe(2);
    expect(api.seen).toEqual([]);
    expect((await run(line, () => Promise.resolve('yes'))).code).toBe(0);
  });

  it('require a reason, and changes require an option', async () => {
    for (const line of [
      'subjects suspend subj_a',
      'subjects confirm subj_a --reason x --yes',
      'subjects confirm subj_a --record-version 2 --yes',
      'subjects confirm subj_a --record-version two --reason x --yes',
      'venues change hall',
      'gate-keys mint --label x',
      'venues change hall --active --inactive',
    ]) {
      expect((await run(line)).code).toBe(2);
    }
    expect(api.seen).toEqual([]);
  });
});

it('show a raw key once, with a warning', async () => {
  api.answer(() => ({ status: 201, body: { id: 'key_1', rawKey: 'gk_secret', scopes: [], expiresAt: null } }));
  const { out } = await run('gate-keys mint --environment live --label door');
  expect(out.split('gk_secret')).toHaveLength(2);
  expect(out).toContain('only time');
});
