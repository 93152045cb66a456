import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { warmUpRequests } from '../bodies.ts';
import type { SectionReport } from '../report.ts';
import { measureRows } from '../rows/measure-rows.ts';
import type { Row } from '../rows/row.ts';
import { rowsReport } from '../rows/rows-report.ts';
import { beside, ratioOf } from '../rows/summarise.ts';
import { echoRow, EXPRESS } from '../servers/echo-server.ts';
import { durabilityFaults } from '../surfaces/durable-settings.ts';
import { checksOf, fillTables, prepareGateSite, readDecisionLog } from '../surfaces/gate-site.ts';
import type { Site } from '../surfaces/site.ts';
import { wholeNumber } from '../text-table.ts';
import { measureOutages } from './gate-outages.ts';
import { withStack } from './table-section.ts';

/** The fixed rate. */
const perSecond = 1_000;
/** One subject per connection. */
const subjects = 64;
/** More than a process of the gate caches, so that subjects asked in turn are never cached. */
const coldSubjects = 22_000;
const COLD = 'gate, cold subjects only';
const others = { normal: 100_000, quick: 10_000 };

/** The gate's check: beside bare Express, at a fixed rate, and with its database unavailable. */
export async function gateSection(context: BenchContext): Promise<SectionReport> {
  const measured = await withStack(context, async (stack) => {
    context.tell('Starting the gates');
    return measureRows(context, await gateRows(context, stack));
  });
  const { notes, ...outages } = await measureOutages(context);
  return rowsReport(context, {
    title: "The gate's check",
    measured: { server: measured },
    notes: [
      'Each connection asks about its own eligible subject; "cold subjects only": in turn about more subjects than a process caches, so that each check also reads the ledger. CPU us includes background work (writing the log of decisions).',
      'Every answer must say allow, and the log of decisions contains each of them once, without a gap.',
      ...notes,
    ],
    ...outages,
  });
}

/** Express first; then the gate, with Redis where available, and without. All receive the same bodies. */
async function gateRows(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const row = (name: string, more: Partial<Row> = {}): Promise<Row> => gateRow(context, stack, { name, ...more });
  const withOrWithout = context.redis === undefined ? ['without Redis'] : ['with Redis', 'without Redis'];
  const gates: Row[] = [];
  for (const redis of withOrWithout) {
    gates.push(await row(`gate, ${redis}`));
    gates.push(await row(`gate, ${redis}, ${wholeNumber(perSecond)} each second`, { perSecond }));
  }
  // Creating so many takes minutes.
  if (!context.options.quick) gates.push(await row(COLD));
  const express = await echoRow(context, stack);
  const { mustSay: _allow, requests = [], ...load } = gates[0]!.load;
  const { destinations } = express.load;
  const echoed = requests.map((request) => ({ ...request, path: destinations[0]!.path }));
  return [{ ...express, load: { ...load, destinations, requests: echoed } }, ...gates];
}

/** Each has a gate and a log of decisions of its own. */
async function gateRow(
  context: BenchContext,
  stack: ReleaseStack,
  { name, ...more }: Partial<Row> & { readonly name: string },
): Promise<Row> {
  const isCold = name === COLD;
  const [redis, database] = [name.includes('with Redis'), name.toLowerCase().replaceAll(/\W+/g, '_')];
  const site = await prepareGateSite(context, { name: database, redis, stack });
  const gate = await site.start();
  if (isCold) context.tell(`Sealing ${coldSubjects} subjects`);
  const load = await checksOf(gate, isCold ? coldSubjects : subjects);
  await fillTables(site, context.options.quick ? others.quick : others.normal);
  return {
    name,
    watch: site.watch(gate),
    load,
    warmUpRequests: warmUpRequests.single,
    ...more,
    ...(more.perSecond === undefined ? { ratios: { 'of Express': EXPRESS } } : {}),
    proof: (answers) => logFaults(site, answers),
    findings: (self, of) => {
      const which = redis ? 'with Redis' : 'without Redis';
      if (more.perSecond !== undefined) return [{ target: 'gateLatency', value: self.p99Ms, of: which }];
      const [value, yardstick] = [ratioOf(self, of(EXPRESS)), beside(of(EXPRESS))];
      return isCold
        ? [{ target: 'gateColdOfExpress', value, of: yardstick }]
        : [{ target: 'gateOfExpress', value, of: `${which}; ${yardstick}` }];
    },
  };
}

const loggedWithinMs = 60_000;
const lookAgainMs = 500;

/** The log is as deployed: each decision is in it once, with consecutive numbers, shortly after its answer. */
async function logFaults(site: Site, answers: number): Promise<string[]> {
  const endAt = performance.now() + loggedWithinMs;
  let logged = await readDecisionLog(site);
  while (logged.rows < answers && performance.now() < endAt) {
    await delay(lookAgainMs);
    logged = await readDecisionLog(site);
  }
  const { rows, allowed, last } = logged;
  return [
    ...durabilityFaults(site.settings),
    ...(rows === answers && allowed === answers && last === answers
      ? []
      : [
          `${answers} answers said allow; the log has ${rows} rows, ${allowed} of them allow, the last with number ${last}.`,
        ]),
  ];
}
