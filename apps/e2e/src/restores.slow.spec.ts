import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, installedPostgres, until } from '@sealgate/testing';
import { listAll } from './harness/admin-client.ts';
import { expectWritten, type WriteAnswer } from './harness/answers.ts';
import { archivedPostgres, type ArchivedPostgres } from './harness/archived-postgres.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { install, type Installation } from './harness/installation.ts';
import { batchOrders, checkReplays, startLoad, type Attempt, type Load } from './harness/load.ts';
import { scaled } from './harness/scale.ts';
import { sender, type Sender } from './harness/sender.ts';
import { judgeLog } from './harness/verifier.ts';

const restores = scaled({ full: 5, quick: 1 });
const storyTimeoutMs = 120_000 + restores * 120_000;
const SAMPLE = 20;

const binFolder = installedPostgres();
(binFolder === undefined ? describe.skip : describe)('A restore of an older backup, under load', () => {
  let postgres: ArchivedPostgres;
  let installation: Installation;
  let folder: string;
  let load: Load;
  const table: object[] = [];
  /** The file that the gateways read their DATABASE_URL from, like a mounted Secret. */
  const useDatabase = (url: string): void => writeFileSync(join(folder, 'database-url'), url);
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-restores-'));
    postgres = await archivedPostgres(binFolder!);
    useDatabase(postgres.url);
    const url = `file://${join(folder, 'database-url')}`;
    installation = await install({ postgres: { url }, gateways: 2, integrators: 1 });
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true });
    process.stderr.write(`${JSON.stringify(table)}\n`);
  }, setupTimeoutMs);

  const isAccepted = ({ answer }: Attempt): boolean => answer?.status === 200;
  const senderOf = async (networkId: string): Promise<readonly Sender[]> => {
    const { rawKey } = await installation.newKey(networkId);
    return installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
  };
  const sizes = async (): Promise<ReadonlyMap<string, number>> => {
    const rows = await listAll(installation.admin, '/ledger/channels');
    return new Map(rows.map((row) => [String(row['channel']), Number(row['size'])]));
  };
  /** The number of signed records, read from the newest checkpoint file of a channel as the page describes. */
  const keptSize = (channel: string): number => {
    const files = join(installation.checkpointFolders[0]!, channel);
    const lines = readFileSync(join(files, readdirSync(files).sort().at(-1)!), 'utf8')
      .trim()
      .split('\n');
    const { note } = JSON.parse(lines.at(-1)!) as { note: string };
    return Number(note.split('\n')[1]);
  };
  const recordsOf = ({ answer }: Attempt) => (JSON.parse(answer!.text) as WriteAnswer).records;
  const problems = async (): Promise<string> => {
    const { body } = await installation.gateway.ops.send({ path: '/health/ready', timeoutMs: 5_000 });
    return (body as { problem?: string }).problem ?? '';
  };
  /** As the page describes: everything is stopped, and the integrator starts first. */
  const exchange = async (bring: () => Promise<string>): Promise<void> => {
    for (const gateway of installation.gateways) expect(await gateway.stop()).toBe(0);
    useDatabase(await bring());
    for (const gateway of installation.gateways) await gateway.start();
  };

  it(
    'contains everything acknowledged before the backup, names what is missing, and loses nothing once the newer one is back',
    async () => {
      const [busy, quiet] = [await installation.newNetwork(), await installation.newNetwork()];
      const [targets, toQuiet] = [await senderOf(busy), await senderOf(quiet)];
      expectWritten(await toQuiet[0]!.post({ assets: [{ id: 'q0' }, { id: 'q1' }] }));
      const nextOrder = batchOrders(5, 'restore');
      load = startLoad({ targets, senders: 6, nextOrder, replayPercent: 10, pauseMs: 100, giveUpAfterMs: 120_000 });
      for (let restore = 1; restore <= restores; restore += 1) {
        await delay(500 + Math.random() * 2000);
        const beforeMs = performance.now();
        const backup = restore % 2 === 0 ? await postgres.dump() : await postgres.moment();
        const late = await installation.newNetwork();
        const [toLate] = await senderOf(late);
        const first = await toLate!.post({ assets: [{ n: 1 }, { n: 2 }] }, { idempotencyKey: 'late' });
        expectWritten(first);
        await delay(500 + Math.random() * 2000);
        const known = await sizes();
        await until(() => keptSize(`${busy}.main`) >= known.get(`${busy}.main`)!, { timeoutMs: 30_000 });
        await postgres.lose();
        const lostMs = performance.now();

        // The older database: everything before the backup exists, and the missing part is named.
        await exchange(() => backup.restore());
        const restoredMs = performance.now();
        const held = await sizes();
        const acknowledged = load.attempts.filter((attempt) => isAccepted(attempt) && attempt.endedMs < lostMs);
        const before = acknowledged.filter(({ endedMs }) => endedMs < beforeMs).flatMap(recordsOf);
        const there = held.get(`${busy}.main`)!;
        expect(Math.max(...before.map(({ index }) => index))).toBeLessThan(there);
        for (const { id, index, transactionId } of sampleOf(before)) {
          const path = `/ledger/channels/${busy}.main/records/${id}`;
          expect(await installation.admin.ask('GET', path)).toMatchObject({ index, transactionId });
        }
        const signed = keptSize(`${busy}.main`);
        expect(signed).toBeGreaterThan(there);
        const said = await problems();
        for (const [channel, until_, from] of [
          [`${busy}.main`, signed, there],
          [`${late}.main`, 2, 0],
        ] as const) {
          const range = until_ - from === 1 ? `record ${from} is` : `records ${from} to ${until_ - 1} are`;
          expect(said).toMatch(new RegExp(`Channel ${channel}: [^;]*of ${until_} records[^;]*${range} missing`));
          const audit = await installation.admin.send('POST', `/ledger/channels/${channel}/audit`);
          expect(audit.body).toMatchObject({ ok: false, problem: expect.stringContaining(`${range} missing`) });
        }
        expect(said).not.toContain(`${quiet}.main`);
        expect(await installation.admin.ask('POST', `/ledger/channels/${quiet}.main/audit`)).toMatchObject({
          ok: true,
        });
        const missing = acknowledged.filter((attempt) => recordsOf(attempt).some(({ index }) => index >= there));
        for (const { order } of sampleOf(missing)) {
          const refused = await targets[1]!.post(order.body, { idempotencyKey: order.idempotencyKey });
          expectProblem(refused, 'LEDGER_UNAVAILABLE');
          expect(refused.body).toMatchObject({ detail: expect.stringContaining(`Channel ${busy}.main is halted`) });
        }
        expect((await sizes()).get(`${busy}.main`)).toBe(there);

        // The newer database: everything resumes, and each retry gets its first receipt.
        await exchange(async () => {
          await postgres.bringBack();
          return postgres.url;
        });
        const backMs = performance.now();
        expect(await problems()).toBe('');
        for (const { order, answer } of sampleOf(missing)) {
          const again = await targets[0]!.post(order.body, { idempotencyKey: order.idempotencyKey });
          expect([again.status, again.text]).toEqual([200, answer!.text]);
          expect(again.headers['idempotent-replayed']).toBe('true');
        }
        const again = await toLate!.post({ assets: [{ n: 1 }, { n: 2 }] }, { idempotencyKey: 'late' });
        expect([again.status, again.text]).toEqual([200, first.text]);
        await until(() => load.attempts.some((attempt) => attempt.startedMs > backMs && isAccepted(attempt)), {
          timeoutMs: 30_000,
          what: 'writes on the newer database',
        });
        table.push({
          restore,
          how: backup.how,
          signed,
          there,
          missing: signed - there,
          refusedRetries: sampleOf(missing).length,
          acknowledged: acknowledged.length,
          restoreMs: Math.round(restoredMs - lostMs),
          backMs: Math.round(backMs - restoredMs),
        });
      }
      await load.finish();
      checkReplays(load.attempts);
    },
    storyTimeoutMs,
  );

  it(
    'leaves a log that contains each acknowledged record once, and nothing else',
    async () => {
      const { admin, folder: files, verifierKey, checkpointFolders: savedFolders } = installation;
      const answers = load.attempts.flatMap((attempt) => (isAccepted(attempt) ? [attempt.answer!.text] : []));
      const channel = recordsOf(load.attempts.find(isAccepted)!)[0]!.channel;
      const size = await judgeLog({ admin, channel, folder: files, verifierKey, answers, savedFolders });
      expect(size).toBeGreaterThan(0);
      expect(await admin.ask('POST', `/ledger/channels/${channel}/audit`)).toMatchObject({ ok: true, size });
    },
    storyTimeoutMs,
  );
});

/** The newest records, which are nearest to the cut, and some of the others. */
function sampleOf<Value>(values: readonly Value[]): readonly Value[] {
  const step = Math.max(1, Math.floor(values.length / SAMPLE));
  return values.filter((_, index) => index >= values.length - SAMPLE || index % step === 0).slice(-2 * SAMPLE);
}
