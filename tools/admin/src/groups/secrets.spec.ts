import { hash } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets, tokenHashes } from '@sealgate/auth';
import { documentSigner } from '@sealgate/envelope';
import { noteSigner, noteVerifier } from '@sealgate/merkle';
import { runLine } from '../testing/run-line.ts';
import { standInApi } from '../testing/stand-in-api.ts';

const api = await standInApi();
const { env } = api;
afterAll(() => api.close());

async function made(line: string): Promise<Record<string, string>> {
  const { code, out, err } = await runLine(`secrets new ${line} --json`);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as Record<string, string>;
}

describe('sealgate secrets new', () => {
  it('generates each kind in the format of its variable, without a request', async () => {
    const { SERVER_SECRETS: one = '' } = await made('server-secret');
    expect(ServerSecrets.parse(one).ids[0]).toMatch(/^s-[0-9a-f]{8}$/);
    const { SERVER_SECRETS: named = '' } = await made('server-secret --id y2030');
    expect(ServerSecrets.parse(`${one},${named}`).ids[1]).toBe('y2030');

    const note = await made('ledger-signing-key --name ledger.example.com');
    const signer = noteSigner(note['LEDGER_SIGNING_KEY']!);
    expect(signer.verifierKey).toBe(note['LEDGER_VERIFIER_KEYS']);
    expect(noteVerifier(signer.verifierKey).verify(signer.sign('x\n'))).toEqual({ text: 'x\n' });

    const document = await made('document-signing-key');
    const { keys } = JSON.parse(document['DOCUMENT_RETIRED_KEYS']!) as { keys: unknown[] };
    // On one line, as in its variable.
    expect(keys).toEqual([documentSigner(document['DOCUMENT_SIGNING_KEY']!.replaceAll('\\n', '\n')).jwk]);

    const token = await made('admin-token');
    expect(tokenHashes(() => token['ADMIN_TOKEN_HASHES']!).find(token['SEALGATE_ADMIN_TOKEN']!)).toBeDefined();
    const key = await made('api-key');
    expect(key['API_KEY_HASHES']).toBe(hash('sha256', key['X-Api-Key']!, 'hex'));
    const next = await made('api-key --family team-1');
    expect(next['API_KEY_HASHES']).toBe(`team-1:${hash('sha256', next['X-Api-Key']!, 'hex')}`);
    expect((await made('database-password'))['password']).toMatch(/^[\w-]{43}$/);
  });

  it('prints a key that can be copied', async () => {
    const { out } = await runLine('secrets new document-signing-key');
    const [, pem = ''] = /^DOCUMENT_SIGNING_KEY +(.*)$/m.exec(out) ?? [];
    expect(documentSigner(pem.replaceAll('\\n', '\n')).jwk).toMatchObject({ kty: 'OKP' });
  });

  it('generates another one each time, and prints it once', async () => {
    const [first, second] = [await runLine('secrets new admin-token'), await runLine('secrets new admin-token')];
    expect(first.out).not.toBe(second.out);
    expect(first.out.trim().split('\n')).toHaveLength(2);
    expect(first.err).toBe('');
  });

  it.each([
    ['nothing', 'Unknown kind of secret. Kinds: server-secret, '],
    ['ledger-signing-key', '--name is required'],
    ["server-secret --id 'a,b'", '--id takes 1-32 letters'],
    ['constructor', 'Unknown kind of secret'],
    ['api-key --family a:b', '--family takes'],
  ])('rejects %s', async (line, text) => {
    expect(await runLine(`secrets new ${line}`)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(text),
    });
  });
});

const secret = (id: string, more: object = {}) => ({
  id,
  makes: 0,
  checks: 0,
  unaware: 0,
  lastMadeAt: null,
  needs: [],
  ...more,
});
const processes = (...lists: string[]) =>
  lists.map((ids, at) => ({ process: `p${at}`, ids: ids.split(','), seenAt: '2030-01-01T00:00:00.000Z' }));
const used = '2030-01-01T00:00:00.000Z';
const claims = [{ what: 'claims on Idempotency-Keys', rows: 7, until: '2030-02-01T00:00:00.000Z' }];
const rows = [{ what: 'subjects', rows: 3, until: null }];

async function ask(line: string, body: object) {
  api.answer(() => ({ body }));
  const ran = await runLine(`secrets ${line}`, { env });
  expect(api.seen).toMatchObject([{ method: 'GET', path: '/admin/v1/secrets' }]);
  return ran;
}

describe('sealgate secrets status', () => {
  const during = {
    processes: processes('new,old', 'new,old'),
    secrets: [
      secret('new', { makes: 2, lastMadeAt: used }),
      secret('old', { checks: 2, lastMadeAt: used, needs: [...rows, ...claims] }),
    ],
  };

  it('shows for each secret which processes have it, what needs it and until when', async () => {
    expect(await ask('status', during)).toEqual({
      code: 0,
      err: '',
      out: [
        'new: of 2 processes 2 use it, 0 accept it',
        'old: of 2 processes 2 accept it, last used at 2030-01-01T00:00:00.000Z',
        '  needed for 3 subjects, until they are recreated with the new one',
        '  needed for 7 claims on Idempotency-Keys, until 2030-02-01T00:00:00.000Z',
        '',
      ].join('\n'),
    });
  });

  it('exits with 1 if a secret to remove is still needed, with the reason and the time', async () => {
    const refused = await ask('status --retire old', during);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain(
      'old must stay in SERVER_SECRETS.\n' +
        'old is needed for 3 subjects, until they are recreated with the new one.\n' +
        'old is needed for 7 claims on Idempotency-Keys, until 2030-02-01T00:00:00.000Z.\n',
    );
    expect(await ask('status --retire new', during)).toMatchObject({ code: 1 });
    const free = { ...during, secrets: [during.secrets[0], secret('old', { checks: 2, lastMadeAt: used })] };
    expect(await ask('status --retire old', free)).toMatchObject({
      code: 0,
      out: expect.stringContaining('old can be removed from SERVER_SECRETS.'),
    });
  });

  it('exits with 1 if a process lacks a secret that is needed, or used by others', async () => {
    const gone = {
      processes: processes('new'),
      secrets: [secret('old', { unaware: 1, lastMadeAt: used, needs: rows })],
    };
    const missing = await ask('status', gone);
    expect(missing.code).toBe(1);
    expect(missing.out).toContain('1 of 1 processes do not have old, which is needed for 3 subjects');
    const ahead = { processes: processes('new,old', 'old'), secrets: [secret('new', { makes: 1, unaware: 1 })] };
    expect(await ask('status', ahead)).toMatchObject({ code: 1, out: expect.stringContaining('others use') });
  });

  describe('of tokens and keys', () => {
    const token = (id: string, more: object = {}) => ({
      variable: 'ADMIN_TOKEN_HASHES',
      id,
      accepts: 2,
      unaware: 0,
      lastUsedAt: null,
      ...more,
    });
    const seenAt = '2030-01-02T12:00:00.000Z';
    const there = [1, 2].map((at) => ({ process: `p${at}`, ids: ['s1'], seenAt }));
    const told = (...accepted: object[]) => ({ processes: there, secrets: [], accepted });
    const early = token('11111111', { lastUsedAt: '2030-01-01T11:59:59.000Z' });
    const late = token('11111111', { lastUsedAt: '2030-01-01T12:00:01.000Z' });
    const fresh = token('22222222');

    it('shows which processes accept each, and when it was last used', async () => {
      const { code, out } = await ask('status', told(late, token('22222222', { accepts: 1, unaware: 1 })));
      expect({ code, out }).toEqual({
        code: 0,
        out:
          '11111111 of ADMIN_TOKEN_HASHES: of 2 processes 2 accept it, last used at 2030-01-01T12:00:01.000Z\n' +
          '22222222 of ADMIN_TOKEN_HASHES: of 2 processes 1 accept it, never used\n',
      });
    });

    it('exits with 1 if a process rejects one that is in use', async () => {
      const { code, out } = await ask('status', told({ ...late, accepts: 1, unaware: 1 }));
      expect(code).toBe(1);
      expect(out).toContain('1 of 2 processes do not accept 11111111 of ADMIN_TOKEN_HASHES, which is in use.');
    });

    it.each([
      [
        'it was not used for a day, and all accept another',
        told(early, fresh),
        0,
        '11111111 can be removed from ADMIN_TOKEN_HASHES.',
      ],
      [
        'it was used within the day',
        told(late, fresh),
        1,
        '11111111 was used within the last day, at 2030-01-01T12:00:01.000Z.',
      ],
      ['there is no other', told(early), 1, 'ADMIN_TOKEN_HASHES has no other that every process accepts.'],
      [
        'the other is not everywhere',
        told(early, { ...fresh, unaware: 1 }),
        1,
        'has no other that every process accepts',
      ],
      ['the other is of another variable', told(early, { ...fresh, variable: 'API_KEY_HASHES' }), 1, 'has no other'],
    ])('reports whether one can be removed if %s', async (_, report, code, text) => {
      expect(await ask('status --retire 11111111', report)).toMatchObject({ code, out: expect.stringContaining(text) });
    });
  });

  it('prints the response with --json', async () => {
    expect(await ask('status --json', during)).toEqual({ code: 0, err: '', out: `${JSON.stringify(during)}\n` });
  });
});

describe('sealgate secrets rotate', () => {
  it.each([
    ['Wait two minutes', [], []],
    ['Accept: generate a secret', processes('old', 'old'), [secret('old', { makes: 2, lastMadeAt: used })]],
    ['Wait: the processes have different lists (old and old,new)', processes('old', 'old,new'), []],
    [
      'Use: move new to the front of SERVER_SECRETS (new,old)',
      processes('old,new', 'old,new'),
      [secret('new', { checks: 2 }), secret('old', { makes: 2, lastMadeAt: used })],
    ],
    [
      'Wait: old is needed for 3 subjects',
      processes('new,old'),
      [secret('new', { makes: 1, lastMadeAt: used }), secret('old', { checks: 1, lastMadeAt: used, needs: rows })],
    ],
    [
      'Retire: remove old',
      processes('new,old'),
      [secret('new', { makes: 1, lastMadeAt: used }), secret('old', { checks: 1, lastMadeAt: used })],
    ],
  ])('shows the next step for server secrets: %s', async (text, told, secrets) => {
    const { code, out } = await ask('rotate server-secret', { processes: told, secrets });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(text) });
  });

  it('shows the steps of every other kind, without a request', async () => {
    for (const kind of ['ledger-signing-key', 'document-signing-key', 'admin-token', 'api-key', 'database-password']) {
      const { code, out, err } = await runLine(`secrets rotate ${kind}`);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toMatch(/^1\. Accept: .*\n2\. Use: /);
    }
  });
});
