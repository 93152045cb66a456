import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { problem, standInApi } from '../testing/stand-in-api.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-trust-'));
const api = await standInApi();
const { env } = api;
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

const run = (...more: string[]): Promise<Ran> => runLine(['fabric', 'trust', 'acme.main', ...more], { env });
const pem = (base64: string) => `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
const trustOf = (root = 'AAAA', n = 2) => ({
  ...{ v: 1, kind: 'fabric-trust', channel: 'main', configBlock: { number: 3, hash: 'ab' } },
  organizations: [{ mspId: 'Org1MSP', roots: [pem(root)], intermediates: [], revocationLists: [], units: null }],
  chaincodes: [{ name: 'records', policy: { n, of: [{ mspId: 'Org1MSP', role: 'peer' }] } }],
});
const answer = (body: object) => api.answer(() => ({ body }));
const saved = (name: string, content: unknown) => {
  const file = join(folder, name);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
};
// SHA-256 of three zero bytes.
const FINGERPRINT = '70:9E:80:C8:84:87:A2:41:1E:1E:E4:DF:B9:F2:2A:86:14:92:D2:0C:47:65:15:0C:0C:79:4A:BD:70:F8:14:7C';

describe('fabric trust', () => {
  it('prints the file, and what it pins with fingerprints', async () => {
    answer(trustOf());
    const { code, out, err } = await run();
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(trustOf());
    expect(err).toContain(`Org1MSP: root SHA-256 ${FINGERPRINT}\n`);
    expect(err).toContain('records: policy {"n":2,');
    expect(api.seen.at(-1)).toMatchObject({ method: 'GET', path: '/admin/v1/fabric/trust?channel=acme.main' });
  });

  it('tells roles in a line that one can read, with who must have issued them', async () => {
    const [organization] = trustOf().organizations;
    const units = { peer: { unit: 'peer' }, admin: { unit: 'ops', issuer: pem('AAAA') } };
    answer({ ...trustOf(), organizations: [{ ...organization!, units }] });
    const { err } = await run();
    expect(err).toContain(`Org1MSP: roles peer by OU peer, admin by OU ops of SHA-256 ${FINGERPRINT}\n`);
    expect(err).not.toContain('BEGIN');
  });

  it('writes the file, and never over another one', async () => {
    answer(trustOf());
    const file = join(folder, 'new.json');
    expect(await run('--out', file)).toMatchObject({ code: 0, out: '' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(trustOf());
    const again = await run('--out', file);
    expect(again.code).toBe(2);
    expect(again.err).toContain('cannot be written: EEXIST');
  });

  it('ends with 3 and says what differs from an older file', async () => {
    answer(trustOf('BBBB', 1));
    const { code, err } = await run('--old', saved('old.json', trustOf()));
    expect(code).toBe(3);
    expect(err).toContain(`removed: Org1MSP: root SHA-256 ${FINGERPRINT}\n`);
    expect(err).toMatch(/\nadded: Org1MSP: root SHA-256 (?:[0-9A-F]{2}:){31}[0-9A-F]{2}\n/);
    expect(err).toContain('changed: records: policy {"n":1,');
  });

  it('ends with 0 if only the block of the configuration is another one', async () => {
    answer({ ...trustOf(), configBlock: { number: 9, hash: 'cd' } });
    expect(await run('--old', saved('same.json', trustOf()))).toMatchObject({ code: 0 });
  });

  it('tells another channel, and shows no control characters', async () => {
    answer({ ...trustOf(), channel: 'main' });
    const { code, err } = await run('--old', saved('other.json', { ...trustOf(), channel: 'x\u001b[2J' }));
    expect(code).toBe(3);
    expect(err).toContain('changed: the channel was x');
    expect(err).not.toContain('\u001b');
  });

  it('sends nothing if the older file is none', async () => {
    const before = api.seen.length;
    for (const content of ['{', '{}', 'null'])
      expect(await run('--old', saved('bad.json', content))).toMatchObject({ code: 2, out: '' });
    expect(await run('--old', join(folder, 'none.json'))).toMatchObject({ code: 2 });
    expect(api.seen.length).toBe(before);
  });

  it('writes nothing for a channel that the ledger peer does not serve', async () => {
    api.answer(() => problem(404, 'NOT_FOUND'));
    const file = join(folder, 'never.json');
    expect(await run('--out', file)).toMatchObject({ code: 1, out: '' });
    expect(existsSync(file)).toBe(false);
  });
});
