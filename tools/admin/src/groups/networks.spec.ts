import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { standInApi } from '../testing/stand-in-api.ts';

const row = (networkId: string, more: object = {}) => ({
  networkId,
  name: null,
  channels: ['main'],
  limits: { ratePerSecond: 1000, burst: 2000 },
  createdAt: '2030-01-02T03:04:05.678Z',
  ...more,
});

const api = await standInApi();
const { env } = api;
afterAll(() => api.close());
beforeEach(() => api.answer(() => ({ body: row('acme') })));

const run = (line: string): Promise<Ran> => runLine(line, { env });
const sent = () => api.seen.map(({ method, path, body }) => [method, path, body === '' ? '' : JSON.parse(body)]);

describe('networks list', () => {
  it('prints one aligned line for each', async () => {
    const items = [row('acme', { name: 'Acme Ltd' }), row('zürich-1', { channels: ['main', 'returns'] })];
    api.answer(() => ({ body: { items, nextCursor: null } }));
    expect(await run('networks list')).toEqual({
      code: 0,
      err: '',
      out: `NETWORK   NAME      CHANNELS       RECORDS/S  BURST  CREATED
acme      Acme Ltd  main           1000       2000   2030-01-02T03:04:05.678Z
zürich-1  -         main, returns  1000       2000   2030-01-02T03:04:05.678Z
`,
    });
  });

  it('reports an empty list', async () => {
    api.answer(() => ({ body: { items: [], nextCursor: null } }));
    expect(await run('networks list')).toEqual({ code: 0, err: '', out: 'There are no networks.\n' });
  });
});

describe('a list that is searched and sorted', () => {
  it('sends words and order, and tells on standard error how many there are', async () => {
    api.answer(() => ({ body: { items: [row('acme')], nextCursor: 'next', total: '10000+' } }));
    const { code, out, err } = await run("networks list --search 'acme ltd' --sort -name --limit 1");
    expect(sent()[0]?.[1]).toBe('/admin/v1/networks?q=acme+ltd&sort=-name&limit=1');
    expect(code).toBe(0);
    expect(out).not.toContain('10000');
    expect(err).toBe('1 of 10000+\nThere is more: add --all, or --cursor next\n');
  });

  it('prints JSON as it came', async () => {
    const body = { items: [row('acme')], nextCursor: null, total: 1 };
    api.answer(() => ({ body }));
    const { out, err } = await run('networks list --json');
    expect([JSON.parse(out), err]).toEqual([body, '1 of 1\n']);
  });

  it('prints the export as CSV, with words and order', async () => {
    api.answer(() => ({ body: 'networkId,name\r\nacme,\r\n' }));
    const { code, out } = await run('networks list --csv --search acme --sort createdAt');
    expect(sent()[0]?.[1]).toBe('/admin/v1/networks/export?q=acme&sort=createdAt&format=csv');
    expect([code, out]).toEqual([0, 'networkId,name\r\nacme,\r\n']);
  });

  it('explains a refused export, and one that breaks off', async () => {
    const problem = { code: 'FORBIDDEN', title: 'Not allowed', status: 403, detail: 'For operators.' };
    api.answer(() => ({ status: 403, body: problem }));
    expect(await run('networks list --csv')).toMatchObject({ out: '', err: expect.stringContaining('FORBIDDEN') });
    api.answer(() => 'cut');
    const cut = await run('networks list --csv');
    expect([cut.code === 0, cut.out]).toEqual([false, '']);
  });

  it.each(['--all', '--limit 5', '--cursor x', '--json'])('has no --csv with %s', async (other) => {
    expect((await run(`networks list --csv ${other}`)).code).toBe(2);
    expect(sent()).toEqual([]);
  });
});

describe('networks create', () => {
  it('sends exactly the given options', async () => {
    const { code, out } = await run('networks create acme');
    expect(sent()).toEqual([['POST', '/admin/v1/networks', { networkId: 'acme' }]]);
    expect(code).toBe(0);
    expect(out).toMatch(/^The network was created\.\n\nnetworkId {2}acme\n/);
  });

  it('sends name, channels in order, and limits', async () => {
    await run("networks create acme --name 'Acme Ltd' --channel b --channel a --rate 10 --burst 100");
    expect(sent()).toEqual([
      [
        'POST',
        '/admin/v1/networks',
        { networkId: 'acme', name: 'Acme Ltd', channels: ['b', 'a'], limits: { ratePerSecond: 10, burst: 100 } },
      ],
    ]);
  });

  it.each([
    ['--rate 10', '--rate and --burst go together.'],
    ['--burst 10', '--rate and --burst go together.'],
    ['--rate ten --burst 10', 'It must be a whole number.'],
    ['--rate -1 --burst 10', 'It must be a whole number.'],
    ['--rate 99999999999999999 --burst 10', 'It must be a whole number.'],
  ])('rejects %s', async (options, text) => {
    const { code, err } = await run(`networks create acme ${options}`);
    expect(code).toBe(2);
    expect(err).toContain(text);
    expect(api.seen).toEqual([]);
  });
});

describe('networks change', () => {
  it.each([
    ['--name New', { name: 'New' }],
    ['--no-name', { name: null }],
    ['--channel main --channel more', { channels: ['main', 'more'] }],
    ['--rate 5 --burst 500', { limits: { ratePerSecond: 5, burst: 500 } }],
    ['--default-limits', { limits: null }],
  ])('sends only the change for %s', async (options, body) => {
    const { code, out } = await run(`networks change acme ${options}`);
    expect(sent()).toEqual([['PATCH', '/admin/v1/networks/acme', body]]);
    expect(code).toBe(0);
    expect(out).toMatch(/^The network was changed\.\n/);
  });

  it.each([
    ['', 'Nothing to change'],
    ['--default-limits --rate 1 --burst 100', 'cannot be used with option'],
  ])('rejects %j', async (options, text) => {
    const { code, err } = await run(`networks change acme ${options}`);
    expect(code).toBe(2);
    expect(err).toContain(text);
    expect(api.seen).toEqual([]);
  });
});

describe('networks delete', () => {
  beforeEach(() => api.answer(() => ({ status: 204 })));

  it('deletes after a yes on the terminal', async () => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return ' YES\n';
    };
    const { code, out } = await runLine('networks delete acme', { env, ask });
    expect(asked).toEqual([expect.stringContaining('Delete the network acme?')]);
    expect(sent()).toEqual([['DELETE', '/admin/v1/networks/acme', '']]);
    expect({ code, out }).toEqual({ code: 0, out: 'The network acme is deleted. Its records stay in the ledger.\n' });
  });

  it.each(['', 'y', 'no', 'acme'])('does nothing after the answer %j', async (answer) => {
    const ran = await runLine('networks delete acme', { env, ask: async () => answer });
    expect(ran).toEqual({ code: 2, out: '', err: 'sealgate: Not confirmed, so nothing was done.\n' });
    expect(api.seen).toEqual([]);
  });

  it('requires --yes without a terminal', async () => {
    expect(await run('networks delete acme')).toMatchObject({ code: 2, err: expect.stringContaining('use --yes') });
    expect(api.seen).toEqual([]);
    expect(await run('networks delete acme --yes')).toMatchObject({ code: 0, err: '' });
    expect(await run('networks delete acme --yes --json')).toEqual({ code: 0, out: '', err: '' });
    expect(api.seen).toHaveLength(2);
  });
});
