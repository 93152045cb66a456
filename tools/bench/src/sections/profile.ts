import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import type { LoadPlan } from '../load/load-plan.ts';
import type { SectionReport } from '../report.ts';
import type { RowLoad } from '../rows/row.ts';
import { askAdmin, makeSender } from '../surfaces/admin.ts';
import { checksOf, prepareGateSite } from '../surfaces/gate-site.ts';
import { prepareSite } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { right, wholeNumber } from '../text-table.ts';
import { withStack } from './table-section.ts';

/** Writes a V8 CPU profile of a surface's main thread while it does some work. */
type Profile = (surface: Surface, what: string, work: () => Promise<number>) => Promise<void>;

/**
 * Profiles of the gateway's main thread for the developer tools of a browser: single records and batches once it is
 * warm, and an audit; with the section `gate`, also of a gate's checks.
 */
export function profileSection(context: BenchContext): Promise<SectionReport> {
  return withStack(context, async (stack) => {
    const folder = join(context.options.dataFolder, 'profiles');
    mkdirSync(folder, { recursive: true });
    const rows: string[][] = [];
    const profile: Profile = async (surface, what, work) => {
      context.tell(`Profiling: ${what}`);
      const file = join(folder, `${what.replaceAll(' ', '-')}.cpuprofile`);
      rows.push([what, wholeNumber(await surface.profile(file, work)), file]);
    };
    await profileGateway(context, stack, profile);
    if (context.options.sections.includes('gate')) await profileGate(context, stack, profile);
    return {
      title: 'Profiles of the main thread',
      tables: [{ columns: [{ name: 'work' }, right('requests or records'), { name: 'file' }], rows }],
      notes: [
        'The developer tools of a browser open these files, and find the sources by the maps beside the bundles.',
      ],
      findings: [],
      withheld: [],
      measured: rows,
    };
  });
}

async function profileGateway(context: BenchContext, stack: ReleaseStack, profile: Profile): Promise<void> {
  const site = await prepareSite(context, { name: 'profiled', stack });
  const gateway = await site.start();
  const sender = await makeSender(gateway, 'profiled');
  const [single, batch] = [recordBody(), batchBody(batchRecords)];
  await profile(gateway, 'single records', await warmLoad(context, { destinations: [sender], body: single }));
  await profile(gateway, 'batches', await warmLoad(context, { destinations: [sender], body: batch }));
  await profile(gateway, 'full audit', async () => {
    const path = `/ledger/channels/${sender.channel}/audit`;
    const report: { size: number } = JSON.parse(await askAdmin(gateway, { method: 'POST', path, expect: 200 }));
    return report.size;
  });
}

async function profileGate(context: BenchContext, stack: ReleaseStack, profile: Profile): Promise<void> {
  const site = await prepareGateSite(context, { name: 'profiled_gate', stack });
  const gate = await site.start();
  await profile(gate, 'gate checks', await warmLoad(context, await checksOf(gate, context.options.connections)));
}

/** Warms up, and returns the work of one round; it resolves to the number of answers. */
async function warmLoad({ generator, options }: BenchContext, load: RowLoad): Promise<() => Promise<number>> {
  const run = async (until: LoadPlan['until']): Promise<number> => {
    const keyPrefix = `profile-${randomBytes(6).toString('hex')}`;
    const { succeeded } = await generator.run({
      ...load,
      connections: options.connections,
      keyPrefix,
      watch: [],
      until,
    });
    return succeeded;
  };
  const isBatch = load.body !== undefined && load.body.length > recordBody().length;
  await run({ requests: isBatch ? warmUpRequests.batch : warmUpRequests.single });
  return () => run({ durationMs: options.roundMs });
}
