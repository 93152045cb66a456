import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import type { Row } from '../rows/row.ts';
import { cpuUsOf, ratioOf } from '../rows/summarise.ts';
import { echoRow, EXPRESS } from '../servers/echo-server.ts';
import { makeSender, writes } from '../surfaces/admin.ts';
import { prepareSite } from '../surfaces/site.ts';
import { tableSection } from './table-section.ts';

const PACKAGES = 'Express 5 + five packages, no work';

/** The gateway beside its yardsticks, with Redis where available, and without. */
export const throughput = tableSection(async (context, stack) => ({
  title: 'Throughput',
  rows: [
    ...(await yardsticks(context, stack)),
    ...(context.redis === undefined ? [] : await gatewayRows(context, stack, true)),
    ...(await gatewayRows(context, stack, false)),
  ],
  notes: [
    'Each request has a record of 255 bytes (a batch 100 of them) and a new Idempotency-Key. Limits per network and per key are on but unreachably high; each request is logged to a file.',
    'Every acknowledged record was counted in the ledger, once.',
  ],
}));

async function yardsticks(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const ratios = { 'of Express': EXPRESS, 'of Express + five': PACKAGES };
  return [
    await echoRow(context, stack, { ratios }),
    await echoRow(context, stack, { name: PACKAGES, program: 'express-packages', ratios }),
  ];
}

/** Both rows of one gateway. Each has a channel of its own, so that its records can be counted. */
async function gatewayRows(context: BenchContext, stack: ReleaseStack, redis: boolean): Promise<Row[]> {
  const which = redis ? 'with Redis' : 'without Redis';
  const site = await prepareSite(context, { name: which.replace(' ', '_').toLowerCase(), redis, stack });
  const gateway = await site.start();
  const singles = await makeSender(gateway, 'singles');
  const batches = await makeSender(gateway, 'batches');
  return [
    {
      name: `gateway, single records, ${which}`,
      watch: site.watch(gateway),
      load: { destinations: [singles], body: recordBody() },
      warmUpRequests: warmUpRequests.single,
      ...writes(site, [singles.channel]),
      ratios: { 'of Express': EXPRESS, 'of Express + five': PACKAGES },
      findings: (self, of) => [
        { target: 'singlesOfExpress', value: ratioOf(self, of(EXPRESS)), of: which },
        { target: 'singlesOfPackages', value: ratioOf(self, of(PACKAGES)), of: which },
        { target: 'singleCpu', value: cpuUsOf(self) / cpuUsOf(of(EXPRESS)), of: which },
      ],
    },
    {
      name: `gateway, batches of ${batchRecords}, ${which}`,
      watch: site.watch(gateway),
      load: { destinations: [batches], body: batchBody(batchRecords) },
      warmUpRequests: warmUpRequests.batch,
      ...writes(site, [batches.channel], batchRecords),
      // Both rows are of one process, whose peak covers single records too.
      findings: ({ recordsPerSecond, peakMebibytes }) => [
        { target: 'batchRecords', value: recordsPerSecond, of: which },
        { target: 'memory', value: peakMebibytes, of: which },
      ],
    },
  ];
}
