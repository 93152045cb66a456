import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { migrate, openDatabase } from '@sealgate/storage';
import { throwawayPostgres } from '../../../../testing/src/throwaway-postgres.ts';
import { openFaults } from '../../../../../tools/fabric-devnet/src/network-faults.ts';
import { readConnectionFile, openFabric, fabricMigrations } from '../index.ts';
const data = process.argv[2]!;
const faults = await openFaults({ data, env: process.env });
console.log(faults.roles);
const postgres = await throwawayPostgres();
await migrate({ url: postgres.url, sets: [fabricMigrations('desk')] });
const sql = openDatabase({
  url: postgres.url,
  applicationName: 't',
  maxConnections: 6,
  connectTimeoutMs: 2000,
  deadlineMs: 5000,
});
const t0 = Date.now();
const log = (...a: unknown[]) => console.log(((Date.now() - t0) / 1000).toFixed(1), ...a);
const problems: Record<string, number> = {};
const client = openFabric({
  connection: readConnectionFile(`${data}/connection.north.json`),
  journal: { sql, schema: 'desk' },
  now: Date.now,
  observer: {
    problem: (w, d) => {
      if ((problems[w] = (problems[w] ?? 0) + 1) <= 3) log(w, d.slice(0, 160));
    },
  },
});
const call = { channel: 'either', chaincode: 'records' };
const told: { id: string; how: string; tx?: string }[] = [];
let more = true;
const workers = Array.from({ length: 12 }, async () => {
  while (more) {
    const id = randomUUID();
    const args = [JSON.stringify([{ id, type: 'asset', owner: null, data: '{"n":1}', extra: null }])];
    try {
      const { transactionId } = await client.submit(
        { ...call, transaction: 'createMany', args },
        { answerWithinMs: 3000 },
      );
      told.push({ id, how: 'committed', tx: transactionId });
    } catch (error) {
      const { name, transactionId, message } = error as { name: string; transactionId?: string; message: string };
      told.push({ id, how: name, ...(transactionId === undefined ? {} : { tx: transactionId }) });
      if (!['UnknownOutcomeError', 'UnavailableError'].includes(name)) log(name, message);
      await delay(50);
    }
  }
});
const tally = () => Object.fromEntries([...Map.groupBy(told, ({ how }) => how)].map(([k, v]) => [k, v.length]));
const step = async (what: string, work: () => Promise<unknown>, ms: number) => {
  log(what);
  await work().catch((e) => log('FAULT FAILED', String(e)));
  await delay(ms);
  log(JSON.stringify(tally()), JSON.stringify(client.state()));
};
await delay(4000);
log(JSON.stringify(tally()));
await step('kill orderer', () => faults.kill('orderer' as never), 5000);
await step('start orderer', () => faults.start('orderer' as never), 8000);
const peers = faults.roles.filter((role) => String(role).includes('peer'));
await step(`kill ${peers[0]}`, () => faults.kill(peers[0]!), 6000);
await step(`start ${peers[0]}`, () => faults.start(peers[0]!), 8000);
await step(`freeze ${peers[0]}`, () => faults.freeze(peers[0]!), 9000);
await step(`thaw ${peers[0]}`, () => faults.thaw(peers[0]!), 5000);
await step(`kill ${peers[1]}`, () => faults.kill(peers[1]!), 4000);
await step(`start ${peers[1]}`, () => faults.start(peers[1]!), 4000);
more = false;
await Promise.all(workers);
log('done writing', JSON.stringify(tally()));
for (let n = 0; n < 60 && client.state().unsettled > 0; n += 1) await delay(500);
log('unsettled', client.state().unsettled);
const bad: string[] = [];
let settledCommitted = 0;
for (const { id, how, tx } of told) {
  const there = (await client.evaluate({ ...call, transaction: 'read', args: [id] })).length > 0;
  if (how === 'committed' && !there) bad.push(`LOST ${id}`);
  if (how === 'UnknownOutcomeError') {
    const s = await client.settle(tx!, { waitMs: 2000 });
    if ((s?.status === 'committed') !== there) bad.push(`UNKNOWN ${s?.status} but there=${there}`);
    if (there) settledCommitted += 1;
  }
  if (!['committed', 'UnknownOutcomeError'].includes(how) && there) bad.push(`SAID NOTHING WRITTEN ${how} ${id}`);
}
log(
  'checked',
  told.length,
  'unknown that were committed',
  settledCommitted,
  'BAD',
  bad.length,
  bad.slice(0, 5),
  problems,
);
await client.close();
await sql.close();
await postgres.stop();
process.exit(0);
