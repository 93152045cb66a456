import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { problem, standInApi } from '../testing/stand-in-api.ts';

const SOURCE_ID = 'src_AAAAAAAAAAAAAAAAAAAAAA';
const ROW = {
  sourceId: SOURCE_ID,
  networkId: 'acme',
  name: 'GitHub',
  scheme: 'github',
  path: `/hooks/${SOURCE_ID}`,
  url: `https://ingest.example.com/hooks/${SOURCE_ID}`,
  secrets: [{ id: 'k1', createdAt: '2030-01-02T03:04:05.678Z', isPublic: false }],
  enabled: true,
  allowedTypes: null,
  limits: null,
};

const api = await standInApi();
const folder = mkdtempSync(join(tmpdir(), 'sealgate-sources-'));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await api.close();
});
beforeEach(() => api.answer(({ method }) => ({ status: method === 'POST' ? 201 : 200, body: ROW })));

const run = (line: string, more = {}): Promise<Ran> => runLine(line, { env: api.env, ...more });
const bodiesSent = () => api.seen.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body) as object);

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('sources create', () => {
  it('generates a secret, shows it once, and prints the whole address for the sender', async () => {
    const { code, out, err } = await run('sources create acme --name GitHub --scheme github');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const [body] = bodiesSent();
    const secret = (body as { secrets: { value: string }[] }).secrets[0]!.value;
    expect(body).toEqual({ name: 'GitHub', scheme: 'github', secrets: [{ id: 'k1', value: secret }] });
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(out).toContain(`\n  ${secret}\n`);
    expect(out).toContain(`\nurl           https://ingest.example.com/hooks/${SOURCE_ID}\n`);
  });

  it('generates one in the format of Standard Webhooks for that scheme', async () => {
    await run('sources create acme --name S --scheme standard-webhooks');
    expect(bodiesSent()).toMatchObject([{ secrets: [{ value: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) }] }]);
  });

  it('knows senders by a preset, and which of them make the secret', async () => {
    const path = fileOf('clerk', 'whsec_of_clerk');
    await run(`sources create acme --name C --preset clerk --secret-file ${path}`);
    await run('sources create acme --name P --preset postmark');
    expect(bodiesSent()).toEqual([
      { name: 'C', preset: 'clerk', secrets: [{ id: 'k1', value: 'whsec_of_clerk' }] },
      {
        name: 'P',
        preset: 'postmark',
        secrets: [{ id: 'k1', value: expect.stringMatching(/^sealgate:[A-Za-z0-9_-]{43}$/) }],
      },
    ]);
  });

  it('sends how a sender signs', async () => {
    const path = fileOf('secret', 'a-secret');
    const common = `sources create acme --name S --secret-file ${path}`;
    await run(
      `${common} --scheme hmac --signature-header X-Sig --algorithm sha512 --encoding base64 --prefix v= ` +
        '--signed {id}.{timestamp}.{body} --signature-member v1 --separator ; --timestamp-member t ' +
        '--timestamp-format milliseconds --secret-encoding hex --delivery-id-from header:X-Id',
    );
    await run(`${common} --preset grafana --timestamp-header X-Time --signed {timestamp}:{body}`);
    await run(`${common} --scheme token --token-header Authorization --token-prefix 'Basic ' --token-encoding base64`);
    expect(bodiesSent()).toMatchObject([
      {
        deliveryIdFrom: 'header:X-Id',
        signature: {
          header: 'X-Sig',
          algorithm: 'sha512',
          encoding: 'base64',
          prefix: 'v=',
          signed: '{id}.{timestamp}.{body}',
          signatureMember: 'v1',
          separator: ';',
          timestampMember: 't',
          timestampFormat: 'milliseconds',
          secretEncoding: 'hex',
        },
      },
      { preset: 'grafana', signature: { timestampHeader: 'X-Time', signed: '{timestamp}:{body}' } },
      { token: { header: 'Authorization', prefix: 'Basic ', encoding: 'base64' } },
    ]);
  });

  it("reads the sender's secret from a file, and does not print it", async () => {
    const path = fileOf('secret', 'whsec_of_the_sender\n');
    const { out } = await run(`sources create acme --name S --scheme stripe --secret-id k9 --secret-file ${path}`);
    expect(bodiesSent()).toMatchObject([{ secrets: [{ id: 'k9', value: 'whsec_of_the_sender' }] }]);
    expect(out).not.toContain('whsec_of_the_sender');
  });

  it('sends settings by option and by file', async () => {
    const settings = fileOf('settings.json', '{"signature":{"header":"x-sig"}}');
    await run(
      `sources create acme --name S --scheme hmac --settings ${settings} --channel a --channel b --id-from /n ` +
        '--type-from header:x-type --owner-from /o --tolerance-seconds 60 --allowed-type t --rate 5 --burst 9',
    );
    expect(bodiesSent()).toMatchObject([
      {
        signature: { header: 'x-sig' },
        channels: ['a', 'b'],
        idFrom: '/n',
        typeFrom: 'header:x-type',
        ownerFrom: '/o',
        toleranceSeconds: 60,
        allowedTypes: ['t'],
        limits: { ratePerSecond: 5, burst: 9 },
      },
    ]);
  });

  it.each([
    ['--name S --scheme github --json', '--json needs --secret-file.'],
    ['--name S --scheme github --secret-file /nowhere/x', 'cannot be read (ENOENT)'],
    ['--name S --scheme github --secret-file /dev/null', '/dev/null is empty: it must hold the secret.'],
    ['--name S', 'Either --preset or --scheme is needed.'],
    ['--name S --preset clerk', 'The sender makes the secret'],
    ['--scheme github', "required option '--name <text>' not specified"],
  ])('rejects %s', async (options, words) => {
    const { code, err } = await run(`sources create acme ${options}`);
    expect(code).toBe(2);
    expect(err).toContain(words);
    expect(api.seen).toEqual([]);
  });
});

describe('the secrets of a source', () => {
  it('are rotated by two changes that list all of them', async () => {
    await run(`sources add-secret acme ${SOURCE_ID} --secret-id k2`);
    const value = expect.stringMatching(/^[A-Za-z0-9_-]{43}$/);
    expect(api.seen.map(({ method }) => method)).toEqual(['GET', 'PATCH']);
    expect(bodiesSent()).toEqual([{ secrets: [{ id: 'k1' }, { id: 'k2', value }] }]);
    const both = { ...ROW, secrets: [{ id: 'k1' }, { id: 'k2' }] };
    api.answer(() => ({ body: both }));
    expect((await run(`sources remove-secret acme ${SOURCE_ID} k1 --yes`)).code).toBe(0);
    expect(bodiesSent()).toEqual([{ secrets: [{ id: 'k2' }] }]);
  });

  it('are not removed without confirmation, nor an unknown one', async () => {
    expect((await run(`sources remove-secret acme ${SOURCE_ID} k1`)).code).toBe(2);
    expect((await run(`sources remove-secret acme ${SOURCE_ID} k7 --yes`)).err).toContain(
      'The source has no secret k7.',
    );
    expect(bodiesSent()).toEqual([]);
  });
});

describe('sources', () => {
  it('change, get, list and delete use their paths', async () => {
    await run(`sources change acme ${SOURCE_ID} --disable --name 'A b'`);
    expect(bodiesSent()).toEqual([{ enabled: false, name: 'A b' }]);
    expect((await run(`sources change acme ${SOURCE_ID}`)).err).toContain('Nothing to change.');
    expect((await run(`sources get acme ${SOURCE_ID}`)).out).toMatch(/^secrets +k1$/m);
    api.answer(() => ({ body: { items: [ROW], nextCursor: null } }));
    expect((await run('sources list acme')).out).toMatch(/src_A+ +GitHub +github +k1 /);
    api.answer(() => ({ status: 204 }));
    expect((await run(`sources delete acme ${SOURCE_ID} --yes`)).code).toBe(0);
    expect(api.seen).toMatchObject([{ method: 'DELETE', path: `/admin/v1/networks/acme/sources/${SOURCE_ID}` }]);
  });

  it('change sends the whole signature, with the members that were given', async () => {
    const signature = { header: 'x-sig', algorithm: 'sha256', encoding: 'hex', prefix: '', signed: '{body}' };
    api.answer(() => ({ body: { ...ROW, scheme: 'hmac', signature } }));
    await run(`sources change acme ${SOURCE_ID} --encoding base64`);
    expect(api.seen.map(({ method }) => method)).toEqual(['GET', 'PATCH']);
    expect(bodiesSent()).toEqual([{ signature: { ...signature, encoding: 'base64' } }]);
  });

  it('deliveries lists their outcomes', async () => {
    const item = {
      at: 't',
      outcome: 'refused',
      code: 'UNAUTHENTICATED',
      deliveries: 3,
      types: [],
      eventId: null,
      requestId: 'r',
    };
    api.answer(() => ({ body: { items: [item], nextCursor: null } }));
    expect((await run(`sources deliveries acme ${SOURCE_ID}`)).out).toMatch(/refused +UNAUTHENTICATED +- +3/);
  });

  it('test reports by its exit code whether the delivery was accepted', async () => {
    api.answer(() => ({ body: { status: 200, code: null } }));
    expect((await run(`sources test acme ${SOURCE_ID}`)).code).toBe(0);
    api.answer(() => ({ body: { status: 403, code: 'ASSET_TYPE_NOT_ALLOWED' } }));
    const refused = await run(`sources test acme ${SOURCE_ID}`);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain('ASSET_TYPE_NOT_ALLOWED');
    api.answer(() => problem(404, 'NOT_FOUND'));
    expect((await run(`sources test acme ${SOURCE_ID}`)).code).toBe(1);
  });
});

describe('the guide for webhooks', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../../../..', path), 'utf8');
  const guide = read('infra/guides/receive-webhooks.md');
  const lines = [...guide.matchAll(/^npx sealgate (sources create .+)$/gm)].map(([, line = '']) => line);
  const { components } = JSON.parse(read('apps/ingest-gateway/admin-openapi.json')) as {
    components: { schemas: { SourcePreset: { enum: string[] } } };
  };

  it('has a command for every sender, which is accepted, and its row in the table', async () => {
    const secret = fileOf('x.secret', 'x');
    const senders = components.schemas.SourcePreset.enum.filter((name) => name !== 'hmac' && name !== 'token');
    for (const line of lines) {
      const { code, err } = await run(line.replace('x.secret', secret));
      expect({ line, code, err }).toEqual({ line, code: 0, err: '' });
      const [, options = ''] = /^sources create acme (.*)$/.exec(line) ?? [];
      if (options.includes('--preset')) expect(guide).toContain(`| \`${options}\` |`);
    }
    const named = lines.flatMap((line) => /--preset (\S+)/.exec(line)?.[1] ?? []);
    expect(new Set(named)).toEqual(new Set(senders));
  });

  it('has no other command that the program does not know', async () => {
    const secret = fileOf('x.secret', 'x');
    const others = [...guide.matchAll(/^ *npx sealgate ((?!sources create).+?)(?: > .+)?$/gm)].map(
      ([, line = '']) => line,
    );
    expect(others.length).toBeGreaterThan(10);
    api.answer(({ path }) => ({
      body: /deliveries$|refused(\/counts)?(\?|$)/.test(path)
        ? { items: [], nextCursor: null }
        : { ...ROW, status: 200 },
    }));
    for (const line of others) {
      const { code, err } = await run(line.replace('x.secret', secret));
      expect({ line, code, err }).toEqual({ line, code: 0, err: '' });
    }
  });
});

describe('refused deliveries', () => {
  const REFUSED = {
    refusedId: 'rfd_1',
    at: '2030-01-02T03:04:05.678Z',
    code: 'UNAUTHENTICATED',
    reason: 'clock-skew',
    skewSeconds: -400,
    detail: 'Not signed as required.',
    header: null,
    pointer: null,
    bodyBytes: 12,
    deliveryId: null,
    keptUntil: null,
    outcome: null,
  };

  it('are listed with the reason, filtered by the API', async () => {
    api.answer(() => ({ status: 200, body: { items: [REFUSED], nextCursor: null } }));
    const { code, out } = await run(
      `sources refused acme ${SOURCE_ID} --reason clock-skew --from 2030-01-01T00:00:00Z`,
    );
    expect(code).toBe(0);
    expect(out).toMatch(/rfd_1 .*UNAUTHENTICATED +clock-skew +-400/);
    expect(api.seen[0]!.path).toBe(
      `/admin/v1/networks/acme/sources/${SOURCE_ID}/refused?reason=clock-skew&from=2030-01-01T00%3A00%3A00Z`,
    );
  });

  it('are counted by reason', async () => {
    const count = { code: 'UNAUTHENTICATED', reason: 'no-matching-secret', deliveries: 7, lastAt: REFUSED.at };
    api.answer(() => ({ status: 200, body: { items: [{ ...count, lastSkewSeconds: null }], nextCursor: null } }));
    const { out } = await run(`sources refused-counts acme ${SOURCE_ID}`);
    expect(out).toMatch(/UNAUTHENTICATED +no-matching-secret +7/);
  });

  it('are processed again after a confirmation; a refusal exits with 1', async () => {
    api.answer(() => ({ status: 200, body: { status: 413, code: 'PAYLOAD_TOO_LARGE', outcome: null, eventId: null } }));
    const { code, out } = await run(`sources process acme ${SOURCE_ID} rfd_1 --yes`);
    expect([code, out.includes('PAYLOAD_TOO_LARGE')]).toEqual([1, true]);
    expect(api.seen[0]).toMatchObject({
      method: 'POST',
      path: `/admin/v1/networks/acme/sources/${SOURCE_ID}/refused/rfd_1/process`,
    });
  });

  it('are kept, and larger ones taken, by settings of the source', async () => {
    await run(`sources change acme ${SOURCE_ID} --max-bytes 26214400 --keep-refused-hours 72`);
    expect(bodiesSent()).toEqual([{ maxBytes: 26_214_400, keepRefusedHours: 72 }]);
  });
});
