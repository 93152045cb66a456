import { randomUUID } from 'node:crypto';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { ContractRefusedError, MisconfiguredError, UnavailableError } from './fabric-errors.ts';
import type { FabricOptions } from './open-fabric.ts';
import { caught, read, write } from './testing/contract-calls.ts';
import { openTestFabric, SCHEMA, type TestFabric } from './testing/open-test-fabric.ts';

const BASIC = fileURLToPath(new URL('../../../../apps/ledger-chaincode/test/basic-assets/main.ts', import.meta.url));
const RECORDS = fileURLToPath(new URL('../../../../apps/ledger-chaincode/src/main.ts', import.meta.url));

let test: TestFabric;
let identities: object[];
const problems: string[] = [];

beforeAll(async () => {
  const chaincodes = [
    { name: 'records', program: RECORDS },
    { name: 'basic', program: BASIC },
  ];
  test = await openTestFabric({ chaincodes });
  const { peer } = test;
  identities = [
    { name: 'clerk', ...peer.enroll('clerk', undefined, { role: 'clerk' }) },
    { name: 'approver', ...peer.enroll('approver', undefined, { role: 'approver' }) },
  ];
}, 60_000);
afterEach(() => {
  test.peer.faults.clear();
  test.peer.orderer.release();
  problems.length = 0;
});
afterAll(() => test.close());

const single = { mspId: undefined, certFile: undefined, keyFile: undefined };
/** Longer than a busy machine needs: nothing here is about deadlines. */
const deadlinesMs = { evaluate: 20_000, endorse: 20_000, submit: 10_000, commitStatus: 5000, answer: 40_000 };
const open = (more: Record<string, unknown> = {}, options: Partial<FabricOptions> & { leaseMs?: number } = {}) =>
  test.open({
    connection: test.connection({ ...single, identities, default: 'clerk', deadlinesMs, ...more }),
    observer: { problem: (what, detail) => void problems.push(`${what} ${detail}`) },
    ...options,
  });

const basic = (transaction: string, ...args: string[]) => ({ channel: 'main', chaincode: 'basic', transaction, args });
const create = (id: string) => basic('CreateAsset', id, 'red', '1', 'nobody', '7');
const as = <Call extends object>(identity: string, call: Call) => ({ ...call, identity });
const ownerOf = (id: string) => (JSON.parse(test.peer.channel('main').state('basic', id)!) as { Owner: string }).Owner;

/** Runs on, because deadlines of calls are times of the machine, and can be advanced. */
function realClock(): { now: () => number; advance: (ms: number) => void } {
  let aheadMs = 0;
  return { now: () => Date.now() + aheadMs, advance: (ms) => void (aheadMs += ms) };
}

async function signerOf(transactionId: string): Promise<string | null> {
  const [row] = await test.sql.query<{ identity: string | null }>({
    text: `SELECT identity FROM ${SCHEMA}.fabric_transactions WHERE transaction_id = $1`,
    values: [Buffer.from(transactionId, 'hex')],
  });
  return row!.identity;
}

async function unsettledOne(): Promise<string> {
  const [row] = await test.sql.query<{ id: string }>({
    text: `SELECT encode(transaction_id, 'hex') AS id FROM ${SCHEMA}.fabric_transactions WHERE settled_at IS NULL`,
  });
  return row!.id;
}

describe('a connection with several identities', () => {
  it('signs each call as the identity it names, which the contract sees', async () => {
    const [client, id] = [open(), randomUUID()];
    await client.submit(as('clerk', create(id)));
    const refused = await caught(client.submit(as('clerk', basic('ApproveAsset', id))));
    expect(refused).toBeInstanceOf(ContractRefusedError);
    expect(String(refused)).toContain(`clerk may not approve ${id}`);
    const approved = await client.submit(as('approver', basic('ApproveAsset', id)));
    expect(approved.result.toString()).toBe('approver');
    expect(ownerOf(id)).toBe('approver');
    expect(await signerOf(approved.transactionId)).toBe('approver');
    const told = async (identity: string) =>
      JSON.parse((await client.evaluate(as(identity, basic('ReadAsRole', id)))).toString()) as object;
    expect(await told('clerk')).toEqual({ ID: id, role: 'clerk' });
    expect(await told('approver')).toMatchObject({ ID: id, role: 'approver', AppraisedValue: 7 });
  });

  it('signs concurrent calls of two identities each as its own, on one connection', async () => {
    const client = open();
    const ids = Array.from({ length: 6 }, () => randomUUID());
    await Promise.all(ids.map((id) => client.submit(create(id))));
    const roles = ids.map((_, at) => (at % 2 === 0 ? 'clerk' : 'approver'));
    const answers = await Promise.all(
      ids.map((id, at) => client.evaluate(as(roles[at]!, basic('ReadAsRole', id))).then(String)),
    );
    expect(answers.map((text) => (JSON.parse(text) as { role: string }).role)).toEqual(roles);
  });

  it('signs a call that names none as the default; without a default it is not sent', async () => {
    const sent = await open().submit(write(randomUUID()));
    expect(await signerOf(sent.transactionId)).toBe('clerk');
    const without = open({ default: null });
    const height = test.peer.channel('main').height();
    expect(await caught(without.submit(write(randomUUID())))).toBeInstanceOf(MisconfiguredError);
    expect(test.peer.channel('main').height()).toBe(height);
    // What no caller asks for is signed as the first identity.
    await until(async () => (await without.health([read('a')])).contracts[0]?.ok === true);
    const named = await without.submit(as('approver', write(randomUUID())));
    expect(await signerOf(named.transactionId)).toBe('approver');
  });

  it('signs the new transaction after a conflict as the identity of the first', async () => {
    const [client, id] = [open(), randomUUID()];
    await client.submit(create(id));
    test.peer.orderer.hold();
    const both = [0, 1].map(() => client.submit(as('approver', basic('ApproveAsset', id))));
    await until(() => test.peer.channel('main').pending() === 2);
    test.peer.orderer.release();
    const committed = await Promise.all(both);
    expect(
      test.peer
        .channel('main')
        .transactions()
        .filter(({ code }) => code === 11).length,
    ).toBeGreaterThan(0);
    for (const { transactionId } of committed) expect(await signerOf(transactionId)).toBe('approver');
  });

  it('sends nothing as another identity where the named one is gone, and tells the operator', async () => {
    const clock = realClock();
    const client = open({}, { now: clock.now });
    const height = test.peer.channel('main').height();
    for (const _ of [1, 2]) {
      const error = await caught(client.submit(as('retired', write(randomUUID()))));
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error).toMatchObject({ reason: 'identity_unusable' });
    }
    expect(test.peer.channel('main').height()).toBe(height);
    expect(problems).toEqual(['identity_gone work waits for retired, which the connection file lacks']);
    expect(await client.health([])).toMatchObject({
      ok: true,
      problem:
        'work waits for identities that the connection file does not have: retired; put them back, or list them in retired',
    });
    clock.advance(60_000);
    expect(await client.health([])).toMatchObject({ ok: true, problem: null });
  });

  it('fails what is to be signed as one that is listed in retired, and sends nothing', async () => {
    const client = open({ retired: ['guest'] });
    const height = test.peer.channel('main').height();
    const error = await caught(client.submit(as('guest', write(randomUUID()))));
    expect(error).toBeInstanceOf(MisconfiguredError);
    expect(error).toMatchObject({ reason: 'identity_retired' });
    expect(test.peer.channel('main').height()).toBe(height);
    expect(await client.health([])).toMatchObject({ ok: true, problem: null });
  });

  it('tells which identity cannot be used, and works for the others', async () => {
    const { peer } = test;
    const late = {
      name: 'late',
      mspId: 'Org1MSP',
      certFile: `${peer.directory}/l.pem`,
      keyFile: `${peer.directory}/l.key`,
    };
    const clock = realClock();
    const client = open({ identities: [late, ...identities], default: 'late' }, { now: clock.now });
    const state = client.credentials();
    expect(state).toMatchObject({
      ok: true,
      problems: ['identity late: the certificate cannot be read', 'identity late: the private key cannot be read'],
      identities: [
        { name: 'late', ok: false, certificateExpiresAt: null },
        { name: 'clerk', ok: true },
        { name: 'approver', ok: true },
      ],
    });
    expect(JSON.stringify(state)).not.toContain(peer.directory);
    expect(problems).toEqual([
      'identity_not_reloaded late: the certificate cannot be read; the private key cannot be read',
    ]);
    for (const call of [client.submit(write(randomUUID())), client.evaluate(read('a'))])
      expect(await caught(call)).toMatchObject({ reason: 'identity_unusable' });
    expect(await client.submit(as('clerk', write(randomUUID())))).toHaveProperty('blockNumber');
    await until(async () => (await client.health([read('a')])).contracts[0]?.ok === true);
    const files = peer.enroll('late');
    copyFileSync(files.certFile, late.certFile);
    copyFileSync(files.keyFile, late.keyFile);
    clock.advance(1000);
    const sent = await client.submit(write(randomUUID()));
    expect(await signerOf(sent.transactionId)).toBe('late');
    expect(client.credentials()).toMatchObject({ ok: true, problems: [] });
    for (const file of [late.certFile, late.keyFile]) rmSync(file);
  });

  it('is out of order if no identity can be used', () => {
    const lost = identities.map((identity) => ({ ...identity, keyFile: join(test.peer.directory, 'none') }));
    expect(open({ identities: lost }).credentials()).toMatchObject({
      ok: false,
      identities: [{ ok: false }, { ok: false }],
    });
  });
});

describe('a transaction of a process that is gone', () => {
  it('is settled with the bytes it signed, also if its identity is no longer in the file', async () => {
    const id = randomUUID();
    const hang = test.peer.faults.inject('submit', { drop: 'before' });
    const first = open({}, { leaseMs: 400 });
    void caught(first.submit(as('approver', write(id))));
    await until(() => hang.struck() > 0, { timeoutMs: 20_000 });
    const transactionId = await unsettledOne();
    await first.close(100);
    test.peer.faults.clear();
    const [clerk] = identities;
    const heir = open({ identities: [clerk] }, { leaseMs: 400 });
    await until(async () => (await heir.settle(transactionId))?.status === 'committed', { timeoutMs: 30_000 });
    expect(await signerOf(transactionId)).toBe('approver');
    expect((await heir.evaluate(read(id))).length).toBeGreaterThan(0);
  }, 60_000);
});
