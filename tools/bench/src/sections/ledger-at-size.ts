import { randomBytes } from 'node:crypto';
import type { BenchContext } from '../bench-context.ts';
import { batchBody, batchRecords } from '../bodies.ts';
import type { PlannedRequest } from '../load/load-plan.ts';
import { median } from '../median.ts';
import type { Row } from '../rows/row.ts';
import { countRecords, makeSender, type Sender, untilSigned } from '../surfaces/admin.ts';
import { durabilityFaults } from '../surfaces/durable-settings.ts';
import { prepareSite, type Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import { tableSection } from './table-section.ts';

interface AtSize {
  readonly context: BenchContext;
  readonly site: Site;
  readonly sender: Sender;
  readonly records: number;
}

/** Fills a ledger through the gateway, reopens it, then proves records and audits it over HTTP, one request at a time. */
export const ledgerAtSize = tableSection(async (context, stack) => {
  const records = context.options.ledgerRecords;
  const of = `${wholeNumber(records)} records`;
  const site = await prepareSite(context, { name: 'at_size', stack });
  const first = await site.start();
  const sender = await makeSender(first, 'at-size');
  const atSize: AtSize = { context, site, sender, records };
  await fill(atSize, first);
  const { gateway, readyMs, writtenMs } = await reopen(atSize, first);
  const cells = (ms: readonly number[]): string[] => [median(ms), Math.max(...ms)].map((value) => decimals(value, 1));
  const columns = [{ name: 'reopened: process start until' }, right('median ms'), right('worst ms')];
  return {
    title: `A ledger of ${of}`,
    rows: await rowsOf(atSize, gateway),
    tables: [
      {
        columns,
        rows: [
          ['ready', ...cells(readyMs)],
          ['a write is acknowledged', ...cells(writtenMs)],
        ],
      },
    ],
    notes: [
      `Reopened ${exits.length} times, after clean stops and after kills. Proofs and audits are requested one at a time; the gateway verifies each proof against the signed checkpoint before it answers.`,
    ],
    findings: [{ target: 'reopen', value: Math.max(...readyMs), of: `${of}, worst` }],
    withheld: durabilityFaults(site.settings),
  };
});

async function fill({ context, site, sender, records }: AtSize, gateway: Surface): Promise<void> {
  context.tell(`Filling a ledger with ${wholeNumber(records)} records`);
  await context.generator.run({
    destinations: [sender],
    body: batchBody(batchRecords),
    watch: [],
    keyPrefix: `fill-${randomBytes(6).toString('hex')}`,
    connections: context.options.connections,
    until: { requests: records / batchRecords },
  });
  const inLedger = await countRecords(site, [sender.channel]);
  if (inLedger !== records) throw new Error(`Filling the ledger failed: it holds ${inLedger} of ${records} records.`);
  // So that no background work is left.
  await untilSigned(gateway, sender.channel);
}

/** Stops and kills in turn: the cost of a restart must not depend on the previous exit. */
const exits = ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const;

/** The times from the start of the process to its first healthy answer, and to the first acknowledged write. */
async function reopen(
  { context, site, sender }: AtSize,
  opened: Surface,
): Promise<{ gateway: Surface; readyMs: number[]; writtenMs: number[] }> {
  context.tell('Reopening it');
  let gateway = opened;
  const [readyMs, writtenMs]: [number[], number[]] = [[], []];
  for (const signal of exits) {
    await gateway.stop(signal);
    gateway = await site.start();
    readyMs.push(gateway.readyAfterMs);
    const readyAt = performance.now();
    const response = await fetch(`http://127.0.0.1:${gateway.port}${sender.path}`, {
      method: 'POST',
      headers: sender.headers,
      body: '{"data":{"reopened":true}}',
    });
    if (response.status !== 200) throw new Error(`A write after reopening answered ${response.status}.`);
    await response.arrayBuffer();
    writtenMs.push(gateway.readyAfterMs + performance.now() - readyAt);
  }
  await untilSigned(gateway, sender.channel);
  return { gateway, readyMs, writtenMs };
}

/** Proofs of records from the whole log, and audits of all of it, over the admin API: the latency for one person. */
async function rowsOf({ context, site, sender, records }: AtSize, gateway: Surface): Promise<Row[]> {
  const { options } = context;
  const all = records + exits.length;
  const path = `/admin/v1/ledger/channels/${sender.channel}`;
  const headers = { Authorization: `Bearer ${gateway.adminToken}` };
  const watch = site.watch(gateway);
  const load = { destinations: [{ port: Number(new URL(gateway.adminUrl).port), path, headers }], connections: 1 };
  const ids = await randomIds(site, sender.channel, options.proofs);
  const proofs = ids.map((id): PlannedRequest => {
    return { method: 'GET', path: `${path}/records/${encodeURIComponent(id)}/proof` };
  });
  const of = `${wholeNumber(records)} records`;
  return [
    {
      watch,
      name: 'proof of a random record',
      load: { ...load, requests: proofs, firstRequest: 0, mustSay: '"inclusionPath"' },
      until: { requests: Math.ceil(options.proofs / options.rounds) },
      warmUpRequests: 200,
      findings: ({ p99Ms }) => [{ target: 'proof', value: p99Ms, of }],
    },
    {
      watch,
      name: 'full audit',
      load: { ...load, requests: [{ method: 'POST', path: `${path}/audit` }], mustSay: `"ok":true,"size":${all},` },
      until: { requests: 1 },
      warmUpRequests: 0,
      recordsPerRequest: all,
      findings: ({ recordsPerSecond }) => [{ target: 'audit', value: recordsPerSecond, of }],
    },
  ];
}

async function randomIds({ sql }: Site, channel: string, count: number): Promise<string[]> {
  const rows = await sql.query<{ id: string }>({
    text: `SELECT id FROM ledger.records JOIN ledger.channels USING (channel_id)
            WHERE channels.channel = $1 ORDER BY random() LIMIT $2`,
    values: [channel, count],
  });
  return rows.map(({ id }) => id);
}
