import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { warmUpRequests } from '../bodies.ts';
import type { Row } from '../rows/row.ts';
import { ratioOf } from '../rows/summarise.ts';
import { echoed, echoRow, EXPRESS } from '../servers/echo-server.ts';
import { checksOf, decisionLogFaults, fillTables, prepareGateSite } from '../surfaces/gate-site.ts';
import { wholeNumber } from '../text-table.ts';
import { measureOutages } from './gate-outages.ts';
import { tableSection } from './table-section.ts';

/** The fixed rate. */
const perSecond = 1_000;
/** More than a process of the gate caches, so that subjects asked in turn are never cached. */
const coldSubjects = 22_000;
const others = { normal: 100_000, quick: 10_000 };

/** The gate's check: with its database unavailable, beside bare Express, and at a fixed rate. */
export const gateSection = tableSection(async (context, stack) => {
  const { notes, ...outages } = await measureOutages(context);
  return {
    title: "The gate's check",
    rows: await gateRows(context, stack),
    notes: [
      'Each connection asks about its own eligible subject; "cold subjects only": in turn about more subjects than a process caches, so that each check also reads the ledger. CPU us includes background work (writing the log of decisions).',
      'Every answer must say allow, and the log of decisions contains each of them once, without a gap.',
      ...notes,
    ],
    ...outages,
  };
});

/** Express first; then the gate, with Redis where available, and without. All receive the same bodies. */
async function gateRows(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const { redis, options } = context;
  const row = (gate: Gate): Promise<Row> => gateRow(context, stack, gate);
  const gates: Row[] = [];
  for (const usesRedis of redis === undefined ? [false] : [true, false]) {
    const which = usesRedis ? 'with Redis' : 'without Redis';
    gates.push(
      await row({
        name: `gate, ${which}`,
        redis: usesRedis,
        ratios: { 'of Express': EXPRESS },
        findings: (self, of) => [{ target: 'gateOfExpress', value: ratioOf(self, of(EXPRESS)), of: which }],
      }),
      await row({
        name: `gate, ${which}, ${wholeNumber(perSecond)} each second`,
        redis: usesRedis,
        perSecond,
        findings: ({ p99Ms }) => [{ target: 'gateLatency', value: p99Ms, of: which }],
      }),
    );
  }
  const cold: Gate = {
    name: 'gate, cold subjects only',
    redis: false,
    subjects: coldSubjects,
    ratios: { 'of Express': EXPRESS },
    findings: (self, of) => [{ target: 'gateColdOfExpress', value: ratioOf(self, of(EXPRESS)) }],
  };
  // Creating so many takes minutes.
  if (!options.quick) gates.push(await row(cold));
  const express = await echoRow(context, stack);
  return [{ ...express, load: echoed(gates[0]!.load, express) }, ...gates];
}

interface Gate extends Pick<Row, 'name' | 'perSecond' | 'ratios' | 'findings'> {
  readonly redis: boolean;
  /** Default: one per connection. */
  readonly subjects?: number;
}

/** Each has a gate and a log of decisions of its own. */
async function gateRow(
  context: BenchContext,
  stack: ReleaseStack,
  { redis, subjects = 64, ...row }: Gate,
): Promise<Row> {
  const database = row.name.toLowerCase().replaceAll(/\W+/g, '_');
  const site = await prepareGateSite(context, { name: database, redis, stack });
  const gate = await site.start();
  context.tell(`Sealing ${subjects} subjects: ${row.name}`);
  const load = await checksOf(gate, subjects);
  await fillTables(site, context.options.quick ? others.quick : others.normal);
  return {
    ...row,
    watch: site.watch(gate),
    load,
    warmUpRequests: warmUpRequests.single,
    proof: (answers) => decisionLogFaults(site, answers),
  };
}
