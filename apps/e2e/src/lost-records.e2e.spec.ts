import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  copyDatabase,
  expectProblem,
  postgresPair,
  until,
  type PostgresPair,
  type ThrowawayPostgres,
} from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { expectWritten } from './harness/answers.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { install, type Installation } from './harness/installation.ts';
import { ledgerOrigin } from './harness/surface-setup.ts';
import { sender, type Sender } from './harness/sender.ts';
import { verify } from './harness/verifier.ts';

const COMMAND = fileURLToPath(new URL('../../../tools/admin/bin/sealgate.mjs', import.meta.url));

/** Waits until this many records of the channel are covered by a checkpoint. */
const signed = ({ admin }: Installation, channel: string, size: number) =>
  until(async () => {
    const { text } = await admin.get(`/ledger/channels/${channel}/checkpoint`);
    return text.startsWith(`${ledgerOrigin}/${channel}\n${size}\n`);
  });

describe('A database restored to an older state', () => {
  let postgres: ThrowawayPostgres;
  let setup: Installation;
  beforeAll(async () => {
    postgres = await migratedPostgres('ingest-gateway');
    setup = await install({ postgres });
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await postgres.stop();
  });

  const senderOf = async (networkId: string): Promise<Sender> =>
    sender(setup.gateway.public, networkId, (await setup.newKey(networkId)).rawKey);
  const whileStopped = async (work: () => Promise<void>): Promise<void> => {
    expect(await setup.gateway.stop()).toBe(0);
    await work();
    await setup.gateway.start();
  };

  it('refuses writes to the channel that lost records, names it, and resumes once they are back', async () => {
    const [lost, whole] = [await setup.newNetwork(), await setup.newNetwork()];
    const [toLost, toWhole] = [await senderOf(lost), await senderOf(whole)];
    const channel = `${lost}.main`;
    expectWritten(await toLost.post({ assets: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] }));
    expectWritten(await toWhole.post({ id: 'w0' }));
    await signed(setup, channel, 3);
    await signed(setup, `${whole}.main`, 1);
    let older = async (): Promise<void> => undefined;
    await whileStopped(async () => {
      older = await copyDatabase(postgres.url, 'older');
    });
    const first = await toLost.post({ assets: [{ n: 1 }, { n: 2 }] }, { idempotencyKey: 'order-7' });
    expectWritten(first);
    await signed(setup, channel, 5);
    let newer = async (): Promise<void> => undefined;
    await whileStopped(async () => {
      newer = await copyDatabase(postgres.url, 'newer');
      await older();
    });

    // The sender's retry gets no other receipt, and no other record gets a signed index.
    const detail = `Channel ${channel} is halted, because records of it that were signed for are missing; nothing was written.`;
    for (const refused of [
      await toLost.post({ assets: [{ n: 1 }, { n: 2 }] }, { idempotencyKey: 'order-7' }),
      await toLost.post({ id: 'new' }),
    ]) {
      expectProblem(refused, 'LEDGER_UNAVAILABLE');
      expect(refused.body).toMatchObject({ detail });
    }
    expectWritten(await toWhole.post({ id: 'w1' }));
    const said = 'of 5 records that were signed for, records 3 to 4 are missing';
    expect((await setup.gateway.ops.send({ path: '/health/ready' })).body).toMatchObject({
      status: 'ready',
      problem: expect.stringMatching(`^Channel ${channel}: .*${said}`),
    });
    const path = `/ledger/channels/${channel}`;
    expect(await setup.admin.ask('POST', `${path}/audit`)).toMatchObject({
      ok: false,
      size: 3,
      problem: expect.stringContaining(said),
    });
    expect(await setup.admin.ask('GET', `${path}/records/b/proof`)).toMatchObject({ proof: { index: 1, treeSize: 3 } });

    await whileStopped(newer);
    const retried = await toLost.post({ assets: [{ n: 1 }, { n: 2 }] }, { idempotencyKey: 'order-7' });
    expect([retried.status, retried.text]).toEqual([200, first.text]);
    expect(retried.headers['idempotent-replayed']).toBe('true');
    expect(expectWritten(await toLost.post({ id: 'new' })).records[0]?.index).toBe(5);
    expect(await setup.admin.ask('POST', `${path}/audit`)).toMatchObject({ ok: true, size: 6 });
  }, 120_000);

  it('continues in the next epoch once its loss is declared, and the offline verifier explains old receipts and new ones', async () => {
    const lost = await setup.newNetwork();
    const toLost = await senderOf(lost);
    const channel = `${lost}.main`;
    const path = `/ledger/channels/${channel}`;
    const file = (name: string, value: unknown): string => {
      writeFileSync(join(setup.folder, name), typeof value === 'string' ? value : JSON.stringify(value));
      return name;
    };
    expectWritten(await toLost.post({ assets: [{ id: 'a' }, { id: 'b' }] }));
    await signed(setup, channel, 2);
    let older = async (): Promise<void> => undefined;
    await whileStopped(async () => {
      older = await copyDatabase(postgres.url, 'older');
    });
    const order = {
      assets: [
        { id: 'c', n: 1 },
        { id: 'd', n: 2 },
      ],
    };
    expectWritten(await toLost.post(order, { idempotencyKey: 'order-8' }));
    await signed(setup, channel, 4);
    const old = file('old.json', await setup.admin.ask('GET', `${path}/records/d/proof`));
    const last = (await setup.admin.get(`${path}/checkpoint`)).text;
    await whileStopped(older);
    expectProblem(await toLost.post(order, { idempotencyKey: 'order-8' }), 'LEDGER_UNAVAILABLE');

    const recover = async (...more: string[]): Promise<{ code: number; out: string; err: string }> => {
      const words = ['ledger', 'recover', channel, '--reason', 'Only the older dump is left.', ...more];
      const credentials = { SEALGATE_ADMIN_URL: setup.gateway.admin.origin, SEALGATE_ADMIN_TOKEN: setup.adminToken };
      return new Promise((resolve) => {
        const options = { env: { ...process.env, ...credentials }, timeout: 60_000 };
        execFile(process.execPath, [COMMAND, ...words], options, (error, out, err) =>
          resolve({ code: error === null ? 0 : Number(error.code), out, err }),
        );
      });
    };
    expect(await recover()).toMatchObject({ code: 2, err: expect.stringContaining('indexes 2 to 3, 2 in all') });
    expectProblem(await toLost.post({ id: 'e' }), 'LEDGER_UNAVAILABLE');
    expect(await recover('--yes')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Only the older dump is left.'),
    });

    // The retry of a lost write is a new write, and is answered as one.
    const again = expectWritten(await toLost.post(order, { idempotencyKey: 'order-8' }));
    expect(again.records).toMatchObject([
      { id: 'c', index: 1, epoch: 1 },
      { id: 'd', index: 2, epoch: 1 },
    ]);
    await until(async () => (await setup.admin.get(`${path}/records/d/proof`)).status === 200);
    const fresh = file('new.json', await setup.admin.ask('GET', `${path}/records/d/proof`));
    const survivor = file('a.json', await setup.admin.ask('GET', `${path}/records/a/proof`));
    const check = (...parameters: string[]) => verify(setup.folder, ...parameters, '--key', setup.verifierKey);
    expect(await check('receipt', old, '--declaration', fresh)).toMatchObject({
      exitCode: 0,
      text: expect.stringMatching(/acknowledged and signed for, and then lost; declared on .* by admin:/),
    });
    expect(await check('receipt', survivor, '--declaration', fresh)).toMatchObject({
      exitCode: 0,
      text: expect.stringContaining('not among what was lost'),
    });
    expect(await check('receipt', fresh)).toMatchObject({
      exitCode: 0,
      text: expect.stringContaining(`is entry 2 of 3 in ${channel}/e1`),
    });
    // A monitor of the old log sees it end where it was, and the new log is no fork of it.
    expect((await setup.admin.get(`${path}/checkpoint`)).text).toBe(last);
    const { proof } = JSON.parse(readFileSync(join(setup.folder, fresh), 'utf8')) as { proof: { checkpoint: string } };
    expect(await check('consistency', file('last.txt', last), file('e1.txt', proof.checkpoint))).toMatchObject({
      exitCode: 1,
      text: expect.stringContaining('two epochs of one channel'),
    });
    expect(await setup.admin.ask('POST', `${path}/audit`)).toMatchObject({ ok: true, size: 4 });
    expect((await setup.gateway.ops.send({ path: '/health/ready' })).text).not.toContain(channel);
  }, 120_000);
});

describe('A promoted standby that had not received everything', () => {
  let pair: PostgresPair;
  let setup: Installation;
  beforeAll(async () => {
    pair = await postgresPair();
    setup = await install({ postgres: pair });
  }, setupTimeoutMs);
  afterAll(async () => {
    await setup.stop();
    await pair.stop();
  });

  it('writes no record under a signed index, and the running gateway reports the loss at once', async () => {
    const [lost, whole] = [await setup.newNetwork(), await setup.newNetwork()];
    const [toLost, toWhole] = await Promise.all(
      [lost, whole].map(async (id) => sender(setup.gateway.public, id, (await setup.newKey(id)).rawKey)),
    );
    const channel = `${lost}.main`;
    expectWritten(await toLost!.post({ assets: [{ id: 'a' }, { id: 'b' }] }));
    expectWritten(await toWhole!.post({ id: 'w0' }));
    await signed(setup, channel, 2);
    await signed(setup, `${whole}.main`, 1);
    await pair.withhold();
    expectWritten(await toLost!.post({ id: 'c' }));
    await signed(setup, channel, 3);
    await pair.failOver();

    const problem = expect.stringMatching(
      `^Channel ${channel}: .*of 3 records that were signed for, record 2 is missing`,
    );
    await until(
      async () => {
        const { body } = await setup.gateway.ops.send({ path: '/health/ready', timeoutMs: 2000 });
        return (body as { problem?: string } | undefined)?.problem?.includes(channel) === true;
      },
      { timeoutMs: 20_000 },
    );
    expect((await setup.gateway.ops.send({ path: '/health/ready' })).body).toMatchObject({ status: 'ready', problem });
    expectProblem(await toLost!.post({ id: 'd' }), 'LEDGER_UNAVAILABLE');
    expectWritten(await toWhole!.post({ id: 'w1' }));
    expect(await setup.admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: false, size: 2 });
  }, 120_000);
});
