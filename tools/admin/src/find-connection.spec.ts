import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectionWarnings, findConnection, type ConnectionOptions } from './find-connection.ts';

const DEV = {
  adminToken: 'dev-token',
  surfaces: {
    'ledger-peer': { url: 'http://127.0.0.1:4103', adminUrl: 'http://127.0.0.1:4203' },
    'ingest-gateway': { url: 'http://127.0.0.1:4104', adminUrl: 'http://127.0.0.1:4204' },
    'no-admin': { url: 'http://127.0.0.1:4105' },
  },
};
const GATEWAY = ['ingest-gateway'];
const uid = process.getuid?.();

let folder: string;
let devFile: string;
let below: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sealgate-cli-'));
  devFile = join(folder, '.sealgate/dev.json');
  below = join(folder, 'a/b');
  await mkdir(join(folder, '.sealgate'));
  await mkdir(below, { recursive: true });
});
beforeEach(() => writeDev(DEV));
afterAll(() => rm(folder, { recursive: true }));

async function writeDev(content: unknown): Promise<void> {
  await writeFile(devFile, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
}

interface Given {
  readonly options?: ConnectionOptions;
  readonly env?: Record<string, string>;
  readonly directory?: string;
  readonly surfaces?: readonly string[];
  readonly uid?: number | undefined;
}

const find = ({ options = {}, env = {}, directory = below, surfaces = GATEWAY, ...more }: Given = {}) =>
  findConnection(surfaces, options, { env, directory, uid, ...more });

describe('findConnection', () => {
  it('finds the dev.json of the checkout from any folder in it', () => {
    const expected = { url: 'http://127.0.0.1:4204', token: 'dev-token', urlSource: devFile, tokenSource: devFile };
    expect(find()).toEqual(expected);
    expect(find({ directory: folder })).toEqual(expected);
  });

  it('takes the first running surface', () => {
    expect(find({ surfaces: ['ledger-peer', 'ingest-gateway'] }).url).toBe('http://127.0.0.1:4203');
    expect(find({ surfaces: ['risk-partner', 'ingest-gateway'] }).url).toBe('http://127.0.0.1:4204');
  });

  it('prefers options, then a named file, then the environment, then a found file', () => {
    const env = { SEALGATE_ADMIN_URL: 'http://env.example', SEALGATE_ADMIN_TOKEN: 'env-token' };
    expect(find({ env })).toMatchObject({ url: 'http://env.example', token: 'env-token' });
    const named = { devJson: '.sealgate/dev.json' };
    expect(find({ env, options: named, directory: folder })).toMatchObject({
      url: 'http://127.0.0.1:4204',
      token: 'dev-token',
    });
    const options = { ...named, adminUrl: 'https://option.example/', token: 'option-token' };
    expect(find({ env, options, directory: folder })).toEqual({
      url: 'https://option.example',
      token: 'option-token',
      urlSource: '--admin-url',
      tokenSource: '--token',
    });
  });

  it('ignores empty variables', () => {
    expect(find({ env: { SEALGATE_ADMIN_URL: '', SEALGATE_ADMIN_TOKEN: '' } }).urlSource).toBe(devFile);
  });

  it('never sends the token of a found file to an address that is not in it', () => {
    const adminUrl = 'http://127.0.0.1:9999';
    expect(() => find({ options: { adminUrl } })).toThrow(
      `No token for ${adminUrl} is known: set SEALGATE_ADMIN_TOKEN.`,
    );
    expect(() => find({ env: { SEALGATE_ADMIN_URL: adminUrl } })).toThrow('No token');
    expect(find({ options: { adminUrl: 'http://127.0.0.1:4203/' } }).token).toBe('dev-token');
    expect(find({ options: { adminUrl, devJson: devFile } }).token).toBe('dev-token');
  });

  it('does not open an unneeded file', async () => {
    await writeDev('broken');
    const options = { adminUrl: 'http://127.0.0.1:1', token: 't' };
    expect(find({ options })).toMatchObject({ url: 'http://127.0.0.1:1', token: 't' });
    expect(() => find()).toThrow(`${devFile} is not a JSON object`);
  });

  it('trusts a file that another user can write only if it is named', async () => {
    const foreign = { uid: (uid ?? 0) + 1 };
    expect(() => find(foreign)).toThrow('can be written by another user. If you trust it, name it with --dev-json.');
    expect(find({ ...foreign, options: { devJson: devFile } }).token).toBe('dev-token');
    await chmod(devFile, 0o620);
    expect(() => find()).toThrow('can be written by another user');
    await chmod(devFile, 0o600);
    expect(find({ uid: undefined }).token).toBe('dev-token');
  });

  it.each([
    ['[]', 'is not a JSON object'],
    ['{}', 'has no admin API of ingest-gateway: it is not running.'],
    [{ ...DEV, surfaces: [] }, 'has no admin API of ingest-gateway'],
    [{ ...DEV, surfaces: { 'ingest-gateway': { adminUrl: 4 } } }, 'has no admin API of ingest-gateway'],
    [{ ...DEV, adminToken: 7 }, 'No token for http://127.0.0.1:4204 is known'],
    [{ ...DEV, adminToken: 'a\nb' }, 'contains invalid characters'],
    [{ ...DEV, surfaces: { 'ingest-gateway': { adminUrl: 'nowhere' } } }, 'is not an http or https address'],
    [`{"a":"${'x'.repeat(1024 * 1024)}"}`, 'is too large to be a file of `npm start`'],
  ])('refuses %.40j', async (content, text) => {
    await writeDev(content);
    expect(() => find()).toThrow(text);
  });

  it('takes the token from a file, and names one that cannot be read or is empty', async () => {
    const adminUrl = 'https://far.example';
    const [file, empty] = [`${devFile}.token`, `${devFile}.empty`];
    await writeFile(file, ' t0ken\n');
    await writeFile(empty, '\n');
    expect(find({ options: { adminUrl, tokenFile: file } })).toMatchObject({ token: 't0ken', tokenSource: file });
    expect(() => find({ options: { adminUrl, tokenFile: empty } })).toThrow(`--token-file: ${empty} is empty.`);
    expect(() => find({ options: { adminUrl, tokenFile: `${file}s` } })).toThrow(/tokens cannot be read: ENOENT\.$/);
    expect(() => find({ options: { adminUrl, tokenFile: file, token: 't' } })).toThrow('not both');
  });

  it('says what to do if nothing is configured', () => {
    expect(() => find({ directory: '/' })).toThrow('run `npm start` in this checkout, or set --admin-url and a token');
    expect(() => find({ directory: '/', options: { token: 't' } })).toThrow('No admin API is known');
  });

  it('reports the missing surface of a file instead of using another', () => {
    const env = { SEALGATE_ADMIN_URL: 'http://env.example', SEALGATE_ADMIN_TOKEN: 't' };
    expect(() => find({ surfaces: ['case-gate'], env, options: { devJson: devFile } })).toThrow(
      'has no admin API of case-gate',
    );
  });
});

describe('connectionWarnings', () => {
  const connection = { url: 'http://127.0.0.1:4204', token: 't', urlSource: '', tokenSource: '' };

  it.each(['http://127.0.0.1:4204', 'http://127.1.2.3', 'http://localhost:1', 'http://[::1]:1', 'https://far.example'])(
    'has none for %s',
    (url) => expect(connectionWarnings({ ...connection, url })).toEqual([]),
  );

  it.each(['http://far.example', 'http://127.0.0.1.far.example', 'http://10.0.0.1'])('warns of %s', (url) =>
    expect(connectionWarnings({ ...connection, url })).toEqual([expect.stringContaining('unencrypted')]),
  );
});
