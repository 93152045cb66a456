import { findPgBouncer, startPgBouncer } from '@sealgate/local-services';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import type { SectionReport } from '../report.ts';
import { measureRows, type MeasuredRows } from '../rows/measure-rows.ts';
import type { Row } from '../rows/row.ts';
import { rowsReport } from '../rows/rows-report.ts';
import { batchRows } from '../spread/channel-limit.ts';
import { integratorLimit } from '../spread/integrator-limit.ts';
import { connectionsWithin, openFilesLimit } from '../spread/open-files.ts';
import { restartRows } from '../spread/rolling-restart.ts';
import { spreadRows, type Replicas } from '../spread/spread-rows.ts';
import { spreadSurfaces, type SpreadSurface } from '../spread/spread-surface.ts';
import { replicaEnv } from '../surfaces/site.ts';
import { withStack } from './table-section.ts';

const wanted = [256, 1_000];
const channels = 4;
/** At least the connections of both replicas that decide. */
const poolSize = '24';

const notes = [
  'Everything runs on the same cores. "Of one replica" is requests/s against one replica at as many connections: below 1, a request costs more work. Where other programs run too, two processes get more of the cores than one, and it says nothing. CPU us is that of all replicas, one of which integrates.',
  'Single records of 255 bytes; checks of 256 subjects, with a deadline of five seconds in place of a quarter of one; transactions of one asset; the first page out of 10,000 assets, which is refused after waiting a second and a half (`failed`). Every acknowledged record was counted in the ledger, and every check in the log of decisions, once.',
];

/** Each surface as one replica and as several on one database, with many connections, beside Express with as many. */
export async function spreadSection(context: BenchContext): Promise<SectionReport> {
  const { connections, said } = connectionsWithin(wanted, openFilesLimit());
  const measured: Record<string, MeasuredRows> = {};
  const more = [...said];
  if (findPgBouncer() === undefined)
    more.push(
      'Rows behind PgBouncer are left out: there is no pgbouncer on the PATH (Debian: `apt install pgbouncer`).',
    );
  for (const prepare of spreadSurfaces)
    await withStack(context, async (stack) => {
      context.tell('Starting the servers of the table');
      const spread = await prepare(context, stack);
      for (const stage of await stagesOf(context, { spread, stack, connections })) {
        measured[stage.heading] = await measureRows(context, stage.rows);
        more.push(...(stage.said?.() ?? []));
      }
    });
  const integrator = await withStack(context, (stack) => integratorLimit(context, stack));
  return rowsReport(context, {
    title: 'Many connections, several channels, several replicas',
    measured,
    tables: [integrator.table],
    notes: [...notes, ...more, ...integrator.notes],
  });
}

/** Rows that are measured in turn, as one table. */
interface Stage {
  readonly heading: string;
  readonly rows: readonly Row[];
  /** Notes on what was measured. */
  readonly said?: () => readonly string[];
}

/** All rows are made before the first is measured, because they are proved together. */
async function stagesOf(
  context: BenchContext,
  { spread, stack, connections }: { spread: SpreadSurface; stack: ReleaseStack; connections: readonly number[] },
): Promise<Stage[]> {
  const others = await replicasOf(spread, stack);
  const rows: Row[] = [];
  for (const count of connections) {
    const more = await spreadRows(spread, count, others);
    // With fewer connections the same processes were warmed up; and a smoke test need not be warm.
    const isCold = rows.length === 0 && !context.options.quick;
    rows.push(...(isCold ? more : more.map((row) => ({ ...row, warmUpRequests: 1 }))));
  }
  const stages: Stage[] = [{ heading: spread.name, rows }];
  if (spread.batchesTo !== undefined)
    stages.push({ heading: 'one channel and several', rows: await batchRows(spread, others, spread.batchesTo) });
  if (spread.isRestarted && connections[0] !== undefined)
    stages.push({ heading: `${spread.name}, restarts`, ...(await restartRows(context, spread, connections[0])) });
  return stages;
}

/** Two replicas; of the gateway one and two on several channels; two behind PgBouncer. */
async function replicasOf(spread: SpreadSurface, stack: ReleaseStack): Promise<Replicas[]> {
  const { site, first } = spread;
  const env = replicaEnv(site);
  const surfaces = [first, await site.start(env)];
  const direct: Replicas[] = [{ name: 'two replicas', surfaces, channels: 1 }];
  if (spread.batchesTo !== undefined)
    direct.push(
      { name: `one replica, ${channels} channels`, surfaces: [first], channels, isWarm: true },
      { name: `two replicas, ${channels} channels`, surfaces, channels, isWarm: true },
    );
  if (findPgBouncer() === undefined) return direct;
  const pooler = await startPgBouncer({ url: site.databaseUrl, settings: { default_pool_size: poolSize } });
  stack.own('PgBouncer', () => pooler.stop());
  const pooled = { ...env, DATABASE_URL: pooler.url };
  const behind = [await site.start(pooled), await site.start(pooled)];
  return [...direct, { name: 'two replicas behind PgBouncer', surfaces: behind, pooler, channels: 1 }];
}
