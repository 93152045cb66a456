import { randomBytes } from 'node:crypto';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { recordBody, warmUpRequests } from '../bodies.ts';
import { countRecords, makeSender, type Sender } from '../gateway/gateway-admin.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { prepareSite, type GatewaySite } from '../gateway/gateway-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import { startWitness, type WitnessKind } from '../servers/bench-witness.ts';
import { runRounds, warmUpRows, type LoadedRow, type Pace } from './run-rows.ts';
import { summarise, whyWithheld, type RowSummary } from './summarise-row.ts';

interface AppendRow extends LoadedRow {
  readonly site: GatewaySite;
  readonly gateway: Gateway;
  readonly sender: Sender;
  /** The outcome that the gateway's metrics must count, as proof of the witness's behaviour; none without a witness. */
  readonly outcome: string | undefined;
}

export interface Appends {
  /** The first is without witnesses. */
  readonly summaries: readonly RowSummary[];
  readonly withheld: readonly string[];
}

const kinds: readonly { readonly kind: WitnessKind; readonly name: string; readonly outcome: string }[] = [
  { kind: 'cosigns', name: 'a witness that cosigns', outcome: 'cosigned' },
  { kind: 'away', name: 'a witness that is away', outcome: 'unreachable' },
  { kind: 'slow', name: 'a witness that is slow', outcome: 'cosigned' },
  { kind: 'lies', name: 'a witness that lies', outcome: 'not_cosigned' },
];

/** Single records on gateways that differ only in their witness, each on its own database, round by round in turn. */
export async function measureAppends(context: BenchContext, stack: ReleaseStack): Promise<Appends> {
  context.tell('Starting gateways with and without witnesses');
  const rows = [await startRow(context, stack, { name: 'no witness', outcome: undefined })];
  for (const { kind, name, outcome } of kinds) {
    const witness = await startWitness(kind);
    stack.own(name, () => witness.stop());
    rows.push(await startRow(context, stack, { name, outcome, policy: witness.policy }));
  }
  const run = (row: AppendRow, pace: Pace): Promise<LoadResult> => runRow(context, row, pace);
  await warmUpRows(context, rows, run);
  await runRounds(context, rows, run);
  const summaries = rows.map(summaryOf);
  return { summaries, withheld: await reasons(context, rows, summaries) };
}

async function startRow(
  context: BenchContext,
  stack: ReleaseStack,
  { name, outcome, policy }: { name: string; outcome: string | undefined; policy?: string },
): Promise<AppendRow> {
  const site = await prepareSite(context, {
    name: `log_${name.replaceAll(' ', '_')}`,
    redisUrl: context.redis?.url,
    stack,
    env: policy === undefined ? {} : { LEDGER_WITNESS_POLICY: policy },
  });
  const gateway = await site.start();
  const sender = await makeSender({ site, gateway }, 'appends');
  const row = { name, site, gateway, sender, outcome };
  return { ...row, warmUpRequests: warmUpRequests.single / 4, warmUps: [], rounds: [] };
}

function runRow(
  { generator, options, postgres, redis }: BenchContext,
  row: AppendRow,
  pace: Pace,
): Promise<LoadResult> {
  const { gateway, sender } = row;
  return generator.run({
    ...{ port: gateway.port, path: sender.path, headers: sender.headers, body: recordBody() },
    ...{ connections: options.connections, keyPrefix: `bench-${randomBytes(6).toString('hex')}` },
    watch: [
      { name: 'server', pid: gateway.pid },
      { name: 'postgres', pid: postgres.pid, family: true },
      ...(redis === undefined ? [] : [{ name: 'redis', pid: redis.pid }]),
    ],
    ...pace,
  });
}

const summaryOf = ({ name, warmUps, rounds }: AppendRow): RowSummary =>
  summarise({ name, kind: 'single', recordsPerRequest: 1, warmUps, rounds }, undefined);

async function reasons(
  { machine }: BenchContext,
  rows: readonly AppendRow[],
  summaries: readonly RowSummary[],
): Promise<string[]> {
  const ledgered = [];
  const unlike: string[] = [];
  for (const [at, { name, site, gateway, sender, outcome }] of rows.entries()) {
    const { acknowledged } = summaries[at]!;
    ledgered.push({ name, acknowledged, inLedger: await countRecords(site, sender.channel), settings: site.settings });
    const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
    const counted = new RegExp(`^ledger_witness_answers_total\\{[^}]*outcome="${outcome ?? ''}[^}]*\\} [1-9]`, 'm');
    if (counted.test(metrics) !== (outcome !== undefined)) unlike.push(`${name}: the witness behaved differently.`);
  }
  return [...whyWithheld({ rows: summaries, ledgered, machine }), ...unlike];
}
