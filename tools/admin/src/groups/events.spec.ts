import { afterAll, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { problem, standInApi } from '../testing/stand-in-api.ts';

const event = (eventId: string) => ({
  eventId,
  kind: 'write',
  networkId: 'acme',
  keyId: 'key_01',
  status: 'committed',
  types: ['order', 'refund'],
  records: [
    { id: 'o1', channel: 'acme.main', transactionId: 'tx1' },
    { id: 'o2', channel: 'acme.main', transactionId: 'tx1' },
  ],
  transactionIds: ['tx1'],
  requestId: 'req-9',
  strippedFields: 0,
  at: '2030-01-02T03:04:05.678Z',
});

const api = await standInApi();
const { env } = api;
afterAll(() => api.close());

const run = (line: string): Promise<Ran> => runLine(line, { env });

/** Three pages, by their cursors. */
function servePages(): void {
  const pages: Record<string, object> = {
    '': { items: [event('evt_5'), event('evt_4')], nextCursor: 'c+1/=' },
    'c+1/=': { items: [event('evt_3'), event('evt_2')], nextCursor: 'c2' },
    c2: { items: [event('evt_1')], nextCursor: null },
  };
  api.answer(({ path }) => ({ body: pages[new URL(path, api.url).searchParams.get('cursor') ?? ''] ?? {} }));
}

describe('events list', () => {
  it('sends every filter', async () => {
    servePages();
    const line =
      'events list --network acme --type a&b --status unknown --from 2030-01-01T00:00:00+01:00 --to 2030-01-02T00:00:00Z --limit 7';
    expect((await run(line)).code).toBe(0);
    const url = new URL(api.seen[0]?.path ?? '', api.url);
    expect(url.pathname).toBe('/admin/v1/events');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      networkId: 'acme',
      type: 'a&b',
      status: 'unknown',
      from: '2030-01-01T00:00:00+01:00',
      to: '2030-01-02T00:00:00Z',
      limit: '7',
    });
  });

  it('prints one page, and on standard error how to continue', async () => {
    servePages();
    expect(await run('events list')).toEqual({
      code: 0,
      out: `EVENT  AT                        NETWORK  KEY     KIND   STATUS     RECORDS  TYPES
evt_5  2030-01-02T03:04:05.678Z  acme     key_01  write  committed  2        order, refund
evt_4  2030-01-02T03:04:05.678Z  acme     key_01  write  committed  2        order, refund
`,
      err: 'There is more: add --all, or --cursor c+1/=\n',
    });
    expect(api.seen[0]?.path).toBe('/admin/v1/events');
    const next = await run('events list --cursor c2');
    expect(next.out).toContain('evt_1');
    expect(next.err).toBe('');
  });

  it.each(['--all', '--follow-pages'])('prints all pages with %s, the titles once', async (option) => {
    servePages();
    const { code, out, err } = await run(`events list ${option}`);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['EVENT', 'evt_5', 'evt_4', 'evt_3', 'evt_2', 'evt_1']);
    const limits = api.seen.map(({ path }) => new URL(path, api.url).searchParams.get('limit'));
    expect(limits).toEqual(['200', '200', '200']);
  });

  it('prints all pages as one with --json', async () => {
    servePages();
    const { out } = await run('events list --all --limit 2 --json');
    const ids = ['evt_5', 'evt_4', 'evt_3', 'evt_2', 'evt_1'];
    expect(JSON.parse(out)).toEqual({ items: ids.map(event), nextCursor: null });
    expect(api.seen[0]?.path).toContain('limit=2');
  });

  it('prints complete JSON if the last page is empty', async () => {
    api.answer(({ path }) =>
      path.includes('cursor=')
        ? { body: { items: [], nextCursor: null } }
        : { body: { items: [event('evt_2'), event('evt_1')], nextCursor: 'c1' } },
    );
    const { out } = await run('events list --all --json');
    expect(JSON.parse(out)).toEqual({ items: [event('evt_2'), event('evt_1')], nextCursor: null });
    expect((await run('events list --all')).out.trimEnd().split('\n')).toHaveLength(3);
  });

  it('prints the page unchanged with only --json, without a hint', async () => {
    servePages();
    const { out, err } = await run('events list --json');
    expect(JSON.parse(out)).toEqual({ items: [event('evt_5'), event('evt_4')], nextCursor: 'c+1/=' });
    expect(err).toBe('');
  });

  it('prints incomplete JSON if a later page is rejected', async () => {
    api.answer(() =>
      api.seen.length === 1 ? { body: { items: [event('evt_5')], nextCursor: 'c1' } } : problem(429, 'RATE_LIMITED'),
    );
    const { code, out } = await run('events list --all --json');
    expect(code).toBe(1);
    expect(() => JSON.parse(out)).toThrow(SyntaxError);
  });

  it('reports an empty list, and prints it as JSON', async () => {
    api.answer(() => ({ body: { items: [], nextCursor: null } }));
    expect((await run('events list')).out).toBe('There are no matching events.\n');
    expect((await run('events list --all')).out).toBe('There are no matching events.\n');
    expect((await run('events list --all --json')).out).toBe('{"items":[],"nextCursor":null}\n');
  });

  it.each([
    [{ nextCursor: null }, 'It has no items.'],
    [{ items: [1], nextCursor: null }, 'It has no items.'],
    [{ items: [] }, 'It has no nextCursor.'],
    [{ items: [event('evt_1')], nextCursor: 'c1' }, 'It does not advance.'],
    [{ items: [], nextCursor: 'c2' }, 'It does not advance.'],
  ])('exits with 4 if the response is not a list: %j', async (body, text) => {
    api.answer(() => ({ body }));
    const { code, err } = await run('events list --all --cursor c1');
    expect(code).toBe(4);
    expect(err).toContain(text);
  });

  it('leaves limits to the API, and rejects an unknown outcome', async () => {
    api.answer(() => problem(400, 'INVALID_LIMIT'));
    expect(await run('events list --limit 0')).toMatchObject({
      code: 1,
      err: expect.stringContaining('INVALID_LIMIT'),
    });
    expect((await run('events list --status good')).code).toBe(2);
    expect(api.seen).toHaveLength(1);
  });
});

describe('events get', () => {
  it('prints its records one per line', async () => {
    api.answer(() => ({ body: event('evt_5') }));
    const { out } = await run('events get evt_5');
    expect(api.seen[0]?.path).toBe('/admin/v1/events/evt_5');
    expect(out).toContain(`
records
  {"id":"o1","channel":"acme.main","transactionId":"tx1"}
  {"id":"o2","channel":"acme.main","transactionId":"tx1"}
transactionIds  tx1
`);
    api.answer(() => ({ body: { ...event('evt_6'), records: [] } }));
    expect((await run('events get evt_6')).out).toContain('\nrecords         -\n');
  });
});
