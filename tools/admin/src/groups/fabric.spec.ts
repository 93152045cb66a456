import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { problem, standInApi } from '../testing/stand-in-api.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-mapping-'));
const file = join(folder, 'mapping.json');
writeFileSync(file, '{"mappings": []}');
const api = await standInApi();
const { env } = api;
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

const run = (...more: string[]): Promise<Ran> => runLine(['fabric', 'check', ...more], { env });
const call = {
  types: ['car', 'van.*'],
  channel: 'acme.main',
  chaincode: 'basic',
  call: 'read',
  transaction: 'ReadAsset',
};

describe('fabric check', () => {
  it('sends the text of the file, and prints what each call did', async () => {
    const calls = [{ ...call, ok: true, answer: 'absent', detail: null }];
    api.answer(() => ({ body: { ok: true, faults: [], calls } }));
    const { code, out, err } = await run(file);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^TYPES +CHANNEL +CHAINCODE +CALL +TRANSACTION +ANSWER +DETAIL\n/);
    expect(out).toMatch(/\ncar, van\.\* +acme\.main +basic +read +ReadAsset +absent/);
    expect(api.seen.at(-1)).toMatchObject({
      ...{ method: 'POST', path: '/admin/v1/mapping/check', body: '{"mapping":"{\\"mappings\\": []}"}' },
    });
  });

  it('ends with 3 if something is not as the mapping says, and shows no control characters', async () => {
    const words = `no ${'at all '.repeat(20)}end`;
    const calls = [{ ...call, ok: false, answer: 'refused', detail: `${words}\u001b[2J` }];
    api.answer(() => ({ body: { ok: false, faults: ['mappings: must hold\u001b'], calls } }));
    const { code, out } = await run(file);
    expect(code).toBe(3);
    expect(out).toContain('mappings: must hold');
    expect(out).toContain(`refused  ${words}`);
    expect(out).not.toContain('\u001b');
    const json = await run(file, '--json');
    expect(json.code).toBe(3);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false });
  });

  it('sends who is to sign', async () => {
    api.answer(() => ({ body: { ok: true, faults: [], calls: [] } }));
    await run(file, '--identity', 'approver');
    expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual({ mapping: '{"mappings": []}', identity: 'approver' });
  });

  it('sends nothing if the file cannot be read', async () => {
    const before = api.seen.length;
    const { code, err } = await run(join(folder, 'none.json'));
    expect({ code, sent: api.seen.length - before }).toEqual({ code: 2, sent: 0 });
    expect(err).toContain('none.json cannot be read: ENOENT.');
  });

  it('is rejected by a ledger peer that is not on Fabric', async () => {
    api.answer(() => problem(404, 'NOT_FOUND'));
    expect(await run(file)).toMatchObject({ code: 1, out: '' });
  });
});

describe('blocks of Fabric', () => {
  const hash = 'ab'.repeat(32);
  const creator = { mspId: 'Org1MSP', subject: 'CN=app' };
  const entry = {
    place: 0,
    code: 'VALID',
    chaincode: 'basic',
    function: 'Create',
    creator,
    endorsers: ['Org1MSP', 'Org2MSP'],
  };

  it('are shown with their transactions, whose ids can be copied whole', async () => {
    const block = { number: 7, at: null, hash };
    api.answer(() => ({
      body: { channel: 'acme.main', block, dataHash: hash, entries: [{ ...entry, transactionId: hash }] },
    }));
    const { code, out } = await runLine(['fabric', 'block', 'acme.main', '7'], { env });
    expect(code).toBe(0);
    expect(api.seen.at(-1)).toMatchObject({ method: 'GET', path: '/admin/v1/fabric/channels/acme.main/blocks/7' });
    expect(out).toMatch(/^channel +acme\.main\nnumber +7\n/);
    expect(out).toMatch(new RegExp(`0 +VALID +basic +Create +Org1MSP +Org1MSP, Org2MSP +${hash}\n$`));
  });

  it('have transactions with a line for each key', async () => {
    const writes = ['a', 'b'].map((key, at) => ({ chaincode: 'basic', key, isDelete: at === 1 }));
    api.answer(() => ({ body: { transactionId: hash, creator, writes } }));
    const { out } = await runLine(['fabric', 'transaction', hash], { env });
    expect(out).toContain('creator        Org1MSP CN=app\n');
    expect(out).toContain('writes\n  basic a\n  basic b removed\n');
  });
});
