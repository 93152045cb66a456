import { randomUUID } from 'node:crypto';
import { migrate, openDatabase } from '@sealgate/storage';
import { readConnectionFile } from './connection-file.ts';
import { fabricMigrations } from './fabric-migrations.ts';
import { openFabric } from './open-fabric.ts';

/**
 * What a submit costs this process, on a real network, a database that may be written to, and a machine that does nothing
 * else:
 *
 *   node libs/ledger/fabric/src/submit-cost.bench.ts CONNECTION_FILE FABRIC_CHANNEL DATABASE_URL [SUBMITS [AT_ONCE]]
 */
const [file, channel, url, submits = '5000', atOnce = '200'] = process.argv.slice(2);
if (file === undefined || channel === undefined || url === undefined) {
  throw new Error('Say which connection file, which of its channels, and which database.');
}
const SCHEMA = 'fabric_bench';
await migrate({ url, sets: [fabricMigrations(SCHEMA)] });
const limits = { maxConnections: 6, connectTimeoutMs: 2000, deadlineMs: 5000 };
const sql = openDatabase({ url, applicationName: 'submit cost', ...limits });
const client = openFabric({ connection: readConnectionFile(file), journal: { sql, schema: SCHEMA }, now: Date.now });
const submit = () => {
  const record = { id: randomUUID(), type: 'asset', owner: null, data: '{"n":1}', extra: null };
  const args = [JSON.stringify([record])];
  return client.submit({ channel, chaincode: 'records', transaction: 'createMany', args }, { answerWithinMs: 60_000 });
};

async function run(count: number): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await submit();
  };
  await Promise.all(Array.from({ length: Number(atOnce) }, worker));
}

await run(500);
const [cpu, start] = [process.cpuUsage(), performance.now()];
await run(Number(submits));
const { user, system } = process.cpuUsage(cpu);
const ms = performance.now() - start;
const perSubmitMs = (user + system) / 1000 / Number(submits);
console.log(`${Math.round((Number(submits) / ms) * 1000)} submits a second, ${perSubmitMs.toFixed(2)} ms of CPU each`);
await client.close();
await sql.close();
