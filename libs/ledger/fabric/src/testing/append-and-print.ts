import { parseConnection } from '../connection-file.ts';
import { openDatabase } from '@sealgate/storage';
import { fabricLedger } from '../fabric-ledger.ts';
import { openFabric } from '../open-fabric.ts';

/**
 * A process that appends one unit and prints its result; meant to be killed. Its one argument is JSON: {connection,
 * databaseUrl, schema, leaseMs, channel, id, claim (hex)}.
 */
const order = JSON.parse(process.argv[2]!) as {
  connection: unknown;
  databaseUrl: string;
  schema: string;
  leaseMs?: number;
  channel: string;
  id: string;
  claim: string;
};
const connection = parseConnection(order.connection, '/connection.json');
const { schema, channel, leaseMs } = order;
const sql = openDatabase({
  url: order.databaseUrl,
  applicationName: 'to be killed',
  maxConnections: 4,
  connectTimeoutMs: 2000,
  deadlineMs: 5000,
});
const client = openFabric({
  connection,
  journal: { sql, schema, ...(leaseMs === undefined ? {} : { leaseMs }) },
  now: Date.now,
});
const ledger = fabricLedger({
  client,
  sql,
  schema,
  channels: connection.channels,
  now: Date.now,
  answerWithinMs: 60_000,
});
const result = await ledger.append({
  network: 'acme',
  channel,
  note: '{"by":"the one that was killed"}',
  claim: { claim: Buffer.from(order.claim, 'hex'), fingerprint: 's1:a', acceptable: ['s1:a'] },
  records: [{ id: order.id, type: 'asset', owner: null, data: '{"n":1}', extra: null }],
});
process.stdout.write(`${JSON.stringify(result)}\n`);
await client.close();
await sql.close();
