import { afterAll, describe, expect, it } from '@jest/globals';
import { runLine } from '../testing/run-line.ts';
import { standInApi } from '../testing/stand-in-api.ts';

const api = await standInApi();
const { env } = api;
afterAll(() => api.close());

const FILTERS = '--actor admin:1 --action key.revoke --resource key --id key_1 --request r1 --to 2030-01-02T00:00:00Z';
const event = { id: 'evt_1', at: '2030-01-01T00:00:00.000Z', actor: 'admin:1', action: 'key.revoke', resource: 'key' };

describe.each([
  ['audit', 'resourceId', 'requestId'],
  ['gate-audit', 'resource_id', 'request_id'],
])('%s list', (group, id, request) => {
  it("sends every filter with the surface's parameter names, and prints a line for each event", async () => {
    api.answer(() => ({
      body: { items: [{ ...event, [id]: 'key_1', [request]: 'r1', detail: null }], nextCursor: null },
    }));
    const { code, out } = await runLine(`${group} list ${FILTERS}`, { env });
    expect(code).toBe(0);
    const url = new URL(api.seen.at(-1)?.path ?? '', api.url);
    expect(url.pathname).toBe('/admin/v1/audit');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      actor: 'admin:1',
      action: 'key.revoke',
      resource: 'key',
      [id]: 'key_1',
      [request]: 'r1',
      to: '2030-01-02T00:00:00Z',
    });
    expect(out).toBe(`AT                        ACTOR    ACTION      RESOURCE  ID     REQUEST  PROBLEM
2030-01-01T00:00:00.000Z  admin:1  key.revoke  key       key_1  r1       -
`);
  });
});

describe('audit export', () => {
  it('prints each page as it came, to the last, for sealgate-verify', async () => {
    const pages = [1, 2].map((number) => ({
      v: 1,
      surface: 'ledger-peer',
      items: [event],
      hash: `h${number}`,
      signature: 's',
      nextCursor: number === 1 ? 'c' : null,
    }));
    api.answer(({ path }) => ({ body: pages[path.includes('cursor=c') ? 1 : 0]! }));
    const { code, out } = await runLine('audit export --from 2030-01-01T00:00:00Z', { env });
    expect(code).toBe(0);
    expect(out).toBe(pages.map((page) => `${JSON.stringify(page)}\n`).join(''));
    expect(api.seen.at(-1)?.path).toBe('/admin/v1/audit/export?from=2030-01-01T00%3A00%3A00Z&limit=200&cursor=c');
  });

  it('has a key set to pin', async () => {
    api.answer(() => ({ body: { keys: [{ kid: 'k' }] } }));
    const { out } = await runLine('gate-audit keys', { env });
    expect(JSON.parse(out)).toEqual({ keys: [{ kid: 'k' }] });
    expect(api.seen.at(-1)?.path).toBe('/admin/v1/audit/keys');
  });
});
