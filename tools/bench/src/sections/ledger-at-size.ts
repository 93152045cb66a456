import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../bench-context.ts';
import { batchBody, batchRecords } from '../bodies.ts';
import { median, quantile } from '../median.ts';
import type { SectionReport } from '../report.ts';
import { askAdmin, countRecords, makeSender, type Sender } from '../surfaces/admin.ts';
import { prepareSite, type Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';
import { withStack } from './table-section.ts';

interface AtSize {
  readonly context: BenchContext;
  readonly site: Site;
  readonly sender: Sender;
  readonly records: number;
}

/** Fills a ledger through the gateway, then reopens it, proves records and audits it. */
export function ledgerAtSize(context: BenchContext): Promise<SectionReport> {
  return withStack(context, async (stack) => {
    const records = context.options.ledgerRecords;
    const site = await prepareSite(context, { name: 'at_size', stack });
    const first = await site.start();
    const sender = await makeSender(first, 'at-size');
    const atSize: AtSize = { context, site, sender, records };
    const filledMs = await fill(atSize, first);
    const { gateway, ...reopened } = await reopen(atSize, first);
    const proofMs = await prove(atSize, gateway);
    return reportOf(records, { filledMs, ...reopened, proofMs, auditMs: await audit(atSize, gateway) });
  });
}

async function fill({ context, site, sender, records }: AtSize, gateway: Surface): Promise<number> {
  context.tell(`Filling a ledger with ${wholeNumber(records)} records`);
  const startedAt = performance.now();
  const { succeeded } = await context.generator.run({
    destinations: [sender],
    body: batchBody(batchRecords),
    watch: [],
    keyPrefix: `fill-${randomBytes(6).toString('hex')}`,
    connections: context.options.connections,
    until: { requests: records / batchRecords },
  });
  const filledMs = performance.now() - startedAt;
  const inLedger = await countRecords(site, [sender.channel]);
  if (succeeded * batchRecords !== records || inLedger !== records)
    throw new Error(`Filling the ledger failed: it holds ${inLedger} of ${records} records.`);
  await untilSigned(gateway, sender.channel, records);
  return filledMs;
}

const signedWithinMs = 60_000;

/** Waits until the tree contains every record, so that no background work is left. */
async function untilSigned(gateway: Surface, channel: string, records: number): Promise<void> {
  const endAt = performance.now() + signedWithinMs;
  for (;;) {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const response = await fetch(`${gateway.adminUrl}/admin/v1/ledger/channels/${channel}/checkpoint`, { headers });
    const [, size] = (await response.text()).split('\n');
    if (response.status === 200 && Number(size) >= records) return; // Before the first checkpoint it is a 404.
    if (performance.now() > endAt) throw new Error('The checkpoint did not cover the ledger in time.');
    await delay(100);
  }
}

interface Reopened {
  readonly gateway: Surface;
  /** From the start of the process to its first healthy answer, once for each kind of previous exit. */
  readonly readyMs: readonly number[];
  /** From the start of the process to the first acknowledged write. */
  readonly writtenMs: readonly number[];
}

/** After clean stops and kills, in turn: the cost of a restart must not depend on the previous exit. */
async function reopen({ context, site, sender }: AtSize, opened: Surface): Promise<Reopened> {
  context.tell('Reopening it');
  let gateway = opened;
  const readyMs: number[] = [];
  const writtenMs: number[] = [];
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
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
  return { gateway, readyMs, writtenMs };
}

const unmeasuredProofs = 200;

/** Proofs of records from the whole log, one after another, over the admin API: the latency for one person. */
async function prove({ context, site, sender }: AtSize, gateway: Surface): Promise<number[]> {
  context.tell('Proving records');
  const ids = await randomIds(site, sender.channel, context.options.proofs + unmeasuredProofs);
  const times: number[] = [];
  for (const id of ids) {
    const path = `/ledger/channels/${sender.channel}/records/${encodeURIComponent(id)}/proof`;
    const startedAt = performance.now();
    const text = await askAdmin(gateway, { method: 'GET', path });
    times.push(performance.now() - startedAt);
    if (!text.includes('"inclusionPath"')) throw new Error(`The proof of ${id} holds no path.`);
  }
  return times.slice(unmeasuredProofs);
}

async function randomIds({ sql }: Site, channel: string, count: number): Promise<string[]> {
  const rows = await sql.query<{ id: string }>({
    text: `SELECT id FROM ledger.records JOIN ledger.channels USING (channel_id)
            WHERE channels.channel = $1 ORDER BY random() LIMIT $2`,
    values: [channel, count],
  });
  return rows.map(({ id }) => id);
}

/** Once: it reads every record from disk or cache as the fill has left them. */
async function audit({ context, sender, records }: AtSize, gateway: Surface): Promise<number> {
  context.tell('Auditing it');
  const path = `/ledger/channels/${sender.channel}/audit`;
  const startedAt = performance.now();
  const report: { ok: boolean; size: number; problem: string | null } = JSON.parse(
    await askAdmin(gateway, { method: 'POST', path, expect: 200 }),
  );
  const auditMs = performance.now() - startedAt;
  if (!report.ok || report.size < records)
    throw new Error(`The audit failed: ${report.problem ?? `${report.size} records`}.`);
  return auditMs;
}

interface Numbers extends Omit<Reopened, 'gateway'> {
  readonly filledMs: number;
  readonly proofMs: readonly number[];
  readonly auditMs: number;
}

function reportOf(records: number, numbers: Numbers): SectionReport {
  const { filledMs, readyMs, writtenMs, proofMs, auditMs } = numbers;
  const perSecond = (milliseconds: number): string => `${wholeNumber((records * 1_000) / milliseconds)} records/s`;
  const ms = (value: number): string => `${decimals(value, 1)} ms`;
  return {
    title: `A ledger of ${wholeNumber(records)} records`,
    tables: [
      {
        columns: [{ name: 'what' }, right('median'), right('worst or p99')],
        rows: [
          ['filled in batches, start to last answer', perSecond(filledMs), '-'],
          ['reopened: process start until ready', ms(median(readyMs)), ms(Math.max(...readyMs))],
          ['reopened: process start until a write is acknowledged', ms(median(writtenMs)), ms(Math.max(...writtenMs))],
          ['proof of a random record over HTTP', ms(median(proofMs)), ms(quantile(proofMs, 0.99))],
          ['full audit', perSecond(auditMs), '-'],
        ],
      },
    ],
    notes: [
      `Reopened ${readyMs.length} times, after clean stops and after kills; ${proofMs.length} proofs, one at a time, each verified by the gateway against the signed checkpoint before it is answered.`,
    ],
    findings: [
      { target: 'reopen', value: Math.max(...readyMs), of: `${wholeNumber(records)} records, worst` },
      { target: 'proof', value: quantile(proofMs, 0.99), of: `${wholeNumber(records)} records` },
      { target: 'audit', value: (records * 1_000) / auditMs, of: `${wholeNumber(records)} records` },
    ],
    withheld: [],
    measured: numbers,
  };
}
