import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GROUPS } from './groups.ts';
import { runLine, wordsOf, type Ran } from './testing/run-line.ts';
import { problem, standInApi, type StandInApi } from './testing/stand-in-api.ts';

const NETWORK = { networkId: 'acme', name: null, channels: ['main'], limits: { ratePerSecond: 1000, burst: 2000 } };

let api: StandInApi;
let env: Record<string, string>;
beforeAll(async () => {
  api = await standInApi();
  env = { SEALGATE_ADMIN_URL: api.url, SEALGATE_ADMIN_TOKEN: 'secret-token' };
});
afterAll(() => api.close());
beforeEach(() => api.answer(() => ({ body: NETWORK })));

const run = (line: string): Promise<Ran> => runLine(line, { env });

describe('sealgate', () => {
  it('sends the token as a bearer and prints the response for people', async () => {
    const ran = await run('networks get acme');
    expect(ran).toEqual({
      code: 0,
      err: '',
      out: 'networkId  acme\nname       -\nchannels   main\nlimits     1000 records/s, 2000 at once\n',
    });
    expect(api.seen).toMatchObject([{ method: 'GET', path: '/admin/v1/networks/acme', body: '' }]);
    expect(api.seen[0]?.headers.authorization).toBe('Bearer secret-token');
  });

  it.each([
    '--json networks get acme',
    'networks --json get acme',
    'networks get --json acme',
    'networks get acme --json',
  ])('accepts global options in any position: %s', async (line) => {
    expect(await run(line)).toEqual({ code: 0, err: '', out: `${JSON.stringify(NETWORK)}\n` });
  });

  it('prints the bytes of the API unchanged with --json', async () => {
    const text = '{ "b": 1.10,\n "a": [] , "1": 1e2}';
    api.answer(() => ({ body: text, headers: { 'Content-Type': 'application/json' } }));
    expect((await run('networks get acme --json')).out).toBe(`${text}\n`);
  });

  it('prints a rejection on standard error: code, detail, faults, and the request id', async () => {
    const errors = [
      { in: 'body', pointer: '/limits/burst', detail: 'Too small.' },
      { in: 'query', pointer: '', detail: 'Too much.' },
    ];
    api.answer(() => problem(400, 'INVALID_REQUEST', { errors }));
    expect(await run('networks create acme')).toEqual({
      code: 1,
      out: '',
      err: `sealgate: rejected with 400 INVALID_REQUEST: It cannot be.
  body /limits/burst: Too small.
  query (the whole): Too much.
  request id: req-1
`,
    });
  });

  it('takes the request id from the document if there is no header', async () => {
    api.answer(() => ({ ...problem(404, 'NOT_FOUND'), headers: {} }));
    expect((await run('networks get acme')).err).toContain('request id: req-1\n');
  });

  it('prints the source of a rejected token', async () => {
    api.answer(() => problem(401, 'UNAUTHENTICATED'));
    const { code, err } = await run('networks list');
    expect(code).toBe(1);
    expect(err).toContain('the token is from SEALGATE_ADMIN_TOKEN, the address from SEALGATE_ADMIN_URL\n');
    expect(err).not.toContain('secret-token');
  });

  it('prints when to retry', async () => {
    api.answer(() => ({ ...problem(503, 'LEDGER_UNAVAILABLE'), headers: { 'Retry-After': '7' } }));
    expect((await run('ledger audit acme.main')).err).toContain('try again in 7 s\n');
  });

  it('prints the problem document with --json', async () => {
    api.answer(() => problem(409, 'IN_USE'));
    const { code, out, err } = await run('networks delete acme --yes --json');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(JSON.parse(err)).toEqual(problem(409, 'IN_USE').body);
  });

  it('prints no control characters of a response', async () => {
    api.answer(() =>
      problem(400, 'X\u001b[2J', { detail: 'a\r\u202eb', errors: [{ in: 'body', pointer: '/\u0007', detail: '' }] }),
    );
    // eslint-disable-next-line no-control-regex -- control characters are what must not be there
    expect((await run('networks list')).err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    api.answer(() => ({ body: { networkId: 'a\u001b[2J', name: 'x\ny' } }));
    expect((await run('networks get acme')).out).toBe('networkId  a\ufffd[2J\nname       x\ufffdy\n');
  });

  it.each([
    ['an HTML page', { status: 502, body: '<html>' }, 'It responded with 502 without a problem document.'],
    ['an HTML page with status 200', { body: '<html>' }, 'Its response is not a JSON object.'],
    ['JSON that is not an object', { body: '[]' }, 'Its response is not a JSON object.'],
    ['a foreign problem document', { status: 404, body: { title: 'Not Found' } }, 'It responded with 404 without'],
    ['a redirect', { status: 302, headers: { Location: 'http://127.0.0.1:9/' } }, 'It responded with 302 without'],
  ])('exits with 4 for %s', async (_, reply, text) => {
    api.answer(() => reply);
    const { code, out, err } = await run('networks get acme');
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).toContain(`sealgate: The server at ${api.url} is not an admin API. ${text}`);
    expect(api.seen).toHaveLength(1);
  });

  it('reports that a change may have been applied if the response is unusable', async () => {
    const unknown = /It is unknown whether the change was applied: check before repeating it\.\n$/;
    api.answer(() => ({ status: 502, body: '<html>' }));
    expect(await run('keys revoke acme key_01')).toMatchObject({ code: 4, err: expect.stringMatching(unknown) });
    api.answer(() => ({ status: 201, body: '{"id":' }));
    expect(await run('keys mint acme --label x')).toMatchObject({ code: 4, err: expect.stringMatching(unknown) });
  });

  it('exits with 4 and the reason if the connection is refused', async () => {
    const gone = await standInApi();
    await gone.close();
    const ran = await runLine('networks get acme', { env: { ...env, SEALGATE_ADMIN_URL: gone.url } });
    expect(ran).toEqual({ code: 4, out: '', err: `sealgate: ${gone.url} cannot be reached: connection refused.\n` });
  });

  it('reports for a broken connection that a change may have been applied', async () => {
    api.answer(() => 'cut');
    const read = await run('networks get acme');
    expect(read.code).toBe(4);
    expect(read.err).toMatch(/^sealgate: The connection to \S+ failed \(\w+\)\.\n$/);
    const change = await run('networks create acme');
    expect(change.code).toBe(4);
    expect(change.err).toMatch(
      /failed \(\w+\)\. It is unknown whether the change was applied: check before repeating it\.\n$/,
    );
    expect(api.seen).toHaveLength(2);
  });

  it('exits with 4 after --timeout', async () => {
    api.answer(() => 'silence');
    const { code, err } = await run('networks get acme --timeout 1');
    expect({ code, err }).toEqual({ code: 4, err: `sealgate: ${api.url} did not answer within 1 s.\n` });
  });

  it.each([
    ['', 'Usage: sealgate'],
    ['networks', 'Usage: sealgate networks'],
    ['nothing', "unknown command 'nothing'"],
    ['network list', 'Did you mean networks?'],
    ['networks nothing', "unknown command 'nothing'"],
    ['networks get', "missing required argument 'networkId'"],
    ['networks get a b', 'too many arguments'],
    ['networks list --nothing', "unknown option '--nothing'"],
    ['networks list --timeout 0', 'It must be from 1 to 300.'],
    ['networks list --timeout 301', 'It must be from 1 to 300.'],
    ['networks list --timeout 1.5', 'It must be a whole number.'],
    ["networks get ''", 'An id or name is empty.'],
    ['networks get ..', '".." cannot be used'],
    ['ledger record acme.main .', '"." cannot be used'],
    ['ledger record acme.main \ud800', 'not well-formed'],
    ["networks list --admin-url ''", '--admin-url is empty.'],
    ["networks list --token ''", '--token is empty.'],
    ['networks list --admin-url nowhere', '--admin-url is not an http or https address.'],
    ['networks list --admin-url file:///x', '--admin-url is not an http or https address.'],
    ['networks list --admin-url http://a:b@127.0.0.1', 'must not contain a user, password, query or fragment'],
    ['networks list --admin-url http://127.0.0.1/?a', 'must not contain a user, password, query or fragment'],
    ["networks list --token 'a b'", 'The token of --token contains invalid characters.'],
    ['networks list --dev-json /nowhere/dev.json', '/nowhere/dev.json cannot be read (ENOENT).'],
  ])('exits with 2 and the reason for %j, and sends nothing', async (line, text) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(text);
    expect(api.seen).toEqual([]);
  });

  it('takes arguments after -- literally, even an id that looks like an option', async () => {
    await run('ledger record acme.main -- --json');
    expect(api.seen[0]?.path).toBe('/admin/v1/ledger/channels/acme.main/records/--json');
  });

  it('takes the value of an option literally, even if it looks like an option', async () => {
    await run('networks create acme --name --json');
    expect(JSON.parse(api.seen[0]?.body ?? '')).toEqual({ networkId: 'acme', name: '--json' });
  });

  it('warns of a token on the command line, and of one sent unencrypted to another machine', async () => {
    const local = await run('networks get acme --token other-token');
    expect(local).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^sealgate: warning: A token on the command line.*\n$/),
    });
    expect(local.err).not.toContain('other-token');
    expect(api.seen[0]?.headers.authorization).toBe('Bearer other-token');
    const far = await run('networks get acme --admin-url http://host.invalid:1');
    expect(far.code).toBe(4);
    expect(far.err).toContain('sealgate: warning: The token is sent to host.invalid:1 unencrypted.\n');
  });

  it('keeps the path of an address', async () => {
    await run(`networks get acme --admin-url ${api.url}/gateway/`);
    expect(api.seen[0]?.path).toBe('/gateway/admin/v1/networks/acme');
  });
});

/** Response for a proof. */
const PROVED = {
  receipt: {
    network: 'acme',
    channel: 'acme.main',
    id: 'order-7',
    type: 'order',
    owner: null,
    dataHash: '1'.repeat(64),
    transactionId: '2'.repeat(64),
    at: '2030-01-02T03:04:05.678Z',
  },
  proof: { index: 0, inclusionPath: [], checkpoint: '' },
};

describe('the help of sealgate', () => {
  it('shows groups, the sources of the admin API, and exit codes', async () => {
    const { code, out, err } = await run('--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const { name } of GROUPS) expect(out).toContain(`\n  ${name} `);
    expect(out).toContain('SEALGATE_ADMIN_TOKEN');
    expect(out).toMatch(/\n {2}3 {2}an audit, or a check of a mapping, found something\n/);
  });

  const commands = GROUPS.flatMap(({ name, commands: specs }) => specs.map((spec) => ({ group: name, ...spec })));

  it.each(commands.map(({ group, usage }) => `${group} ${usage.replace(/ <.*/, '')}`))(
    'documents %s, with examples',
    async (line) => {
      const { code, out, err } = await run(`${line} --help`);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain(`Usage: sealgate ${line} `);
      expect(out).toContain('--admin-url <url>');
      expect(out).toContain(`Examples:\n  $ sealgate ${line}`);
    },
  );

  it('has examples that begin with the command and are accepted', async () => {
    for (const { group, usage, examples, isOffline, readsFirst } of commands) {
      expect(examples).not.toHaveLength(0);
      for (const example of examples) {
        const [program, ...line] = wordsOf(example);
        expect([program, ...line.slice(0, 2)]).toEqual(['sealgate', group, usage.split(' ')[0]]);
        // They ask others than the API, or read a file; tested in ledger-export.spec.ts, database.int.spec.ts and
        // fabric.spec.ts.
        if (usage.startsWith('export ') || ['database', 'fabric'].includes(group)) continue;
        const withSecrets = { secrets: [{ id: 'k1' }], status: 200 };
        const row = ['sources', 'subscriptions'].includes(group)
          ? withSecrets
          : { status: 'done', report: { ok: true } };
        const body = { items: [], nextCursor: null, ...row, ...PROVED };
        api.answer(() => ({ body }));
        const { code, err } = await runLine(line, { env, ask: async () => 'yes' });
        // The folder does not exist here.
        const isDone = !line.includes('--dir');
        expect({ example, code, err: err === '' }).toEqual({ example, code: isDone ? 0 : 1, err: isDone });
        expect(api.seen).toHaveLength(isOffline?.(line.slice(2)) === true ? 0 : readsFirst === true ? 2 : 1);
      }
    }
  });
});
