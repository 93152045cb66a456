import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { standInApi } from '../testing/stand-in-api.ts';

const RAW_KEY = `ingest_${'A'.repeat(40)}xyz`;
const KEY = {
  id: 'key_01',
  label: 'till 7',
  keyPrefix: 'ingest_AAAAA',
  permissions: null,
  allowedAssetTypes: [],
  record: 'envelope',
  defaultType: null,
  limits: null,
  createdAt: '2030-01-02T03:04:05.678Z',
  expiresAt: null,
  replaces: null,
};
const MINTED = { rawKey: RAW_KEY, ...KEY };
const ROW = { ...KEY, revokedAt: null, endsAt: null, lastUsedAt: '2030-01-03T00:00:00.000Z' };

const api = await standInApi();
const { env } = api;
afterAll(() => api.close());
beforeEach(() => api.answer(() => ({ status: 201, body: MINTED })));

const run = (line: string): Promise<Ran> => runLine(line, { env });
const bodySent = () => JSON.parse(api.seen[0]?.body ?? '');

describe('keys mint', () => {
  it('shows the raw key once, with a warning, and then the row without it', async () => {
    const { code, out, err } = await run("keys mint acme --label 'till 7'");
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`The key was created:

  ${RAW_KEY}

This is the only time that it is shown: put it where you keep secrets now. Nobody can show it again.

id                 key_01
label              till 7
keyPrefix          ingest_AAAAA
permissions        all
allowedAssetTypes  none
record             envelope
defaultType        -
limits             the network's
createdAt          2030-01-02T03:04:05.678Z
expiresAt          never
replaces           -
`);
    expect(api.seen).toMatchObject([{ method: 'POST', path: '/admin/v1/networks/acme/keys' }]);
    expect(bodySent()).toEqual({ label: 'till 7' });
  });

  it('prints the whole response with --json', async () => {
    const { out, err } = await run('keys mint acme --label x --json');
    expect({ out, err }).toEqual({ out: `${JSON.stringify(MINTED)}\n`, err: '' });
  });

  it.each([
    ['--permission ingest:ping --permission ingest:write', { permissions: ['ingest:ping', 'ingest:write'] }],
    ['--no-permissions', { permissions: [] }],
    ["--asset-type order --asset-type 'a, b'", { allowedAssetTypes: ['order', 'a, b'] }],
    ['--no-asset-types', { allowedAssetTypes: [] }],
    ['--record whole --default-type hook', { record: 'whole', defaultType: 'hook' }],
    ['--expires-at 2030-01-01T00:00:00Z', { expiresAt: '2030-01-01T00:00:00Z' }],
    ['--replaces key_00 --overlap-seconds 0', { replaces: 'key_00', overlapSeconds: 0 }],
    ['--rate 5 --burst 200', { limits: { ratePerSecond: 5, burst: 200 } }],
  ])('sends %s', async (options, members) => {
    expect((await run(`keys mint acme --label x ${options}`)).code).toBe(0);
    expect(bodySent()).toEqual({ label: 'x', ...members });
  });

  it.each([
    ['', "required option '--label <text>' not specified"],
    ['--label x --permission a --no-permissions', "cannot be used with option '--no-permissions'"],
    ['--label x --asset-type a --no-asset-types', "cannot be used with option '--no-asset-types'"],
    ['--label x --record part', 'Allowed choices are envelope, whole.'],
    ['--label x --overlap-seconds soon', 'It must be a whole number.'],
    ['--label x --rate 5', '--rate and --burst go together.'],
  ])('rejects %j', async (options, text) => {
    const { code, err } = await run(`keys mint acme ${options}`);
    expect(code).toBe(2);
    expect(err).toContain(text);
    expect(api.seen).toEqual([]);
  });
});

describe('the other commands of keys', () => {
  it('lists full ids, and truncates other long values', async () => {
    const items = [
      { ...ROW, id: `key_${'0'.repeat(50)}`, allowedAssetTypes: Array.from({ length: 30 }, (_, n) => `type${n}`) },
    ];
    api.answer(() => ({ body: { items, nextCursor: null } }));
    const { out } = await run('keys list acme');
    const [titles = '', line = ''] = out.split('\n');
    expect(titles.trim().split(/ {2,}/)).toEqual([
      'KEY',
      'LABEL',
      'BEGINS WITH',
      'PERMISSIONS',
      'TYPES',
      'CREATED',
      'LAST USED',
      'EXPIRES',
      'REVOKED',
      'ENDS',
    ]);
    expect(line.split(/ {2,}/)).toEqual([
      `key_${'0'.repeat(50)}`,
      'till 7',
      'ingest_AAAAA',
      'all',
      'type0, type1, type2, type3, type4, type…',
      '2030-01-02T03:04:05.678Z',
      '2030-01-03T00:00:00.000Z',
      '-',
      '-',
      '-',
    ]);
    expect(api.seen[0]?.path).toBe('/admin/v1/networks/acme/keys');
  });

  it('reads one', async () => {
    api.answer(() => ({ body: { ...ROW, limits: { ratePerSecond: 1, burst: 100 }, lastUsedAt: null } }));
    const { out } = await run('keys get acme key_01');
    expect(api.seen[0]?.path).toBe('/admin/v1/networks/acme/keys/key_01');
    expect(out).toContain('\nlimits             1 records/s, 100 at once\n');
    expect(out).toContain('\nlastUsedAt         never\n');
  });

  it('revokes one without confirmation, because it may be urgent', async () => {
    api.answer(() => ({ status: 204 }));
    const { code, out } = await run('keys revoke acme key_01');
    expect({ code, out }).toEqual({
      code: 0,
      out: 'The key key_01 is revoked: it is rejected from the next request on.\n',
    });
    expect(api.seen).toMatchObject([{ method: 'DELETE', path: '/admin/v1/networks/acme/keys/key_01' }]);
  });
});
