import { postAs } from '../surfaces/risk-site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { until } from '../until.ts';
import type { FilledRisk } from './fill-risk.ts';
import type { FillAt } from './sized-surface.ts';

const withinMs = 120_000;

/**
 * What a revision costs that is summed up once it is too old: of the large organisation, as long as its row is locked, so
 * that nobody changes anything of it. All its revisions are made old, behind a change that everybody sees.
 */
export async function retentionUs(
  { site: { sql, start } }: Pick<FillAt, 'site'>,
  { orgId, keys }: FilledRisk,
  surface: Surface,
): Promise<number> {
  await postAs(surface, keys.owner)('/controls', { title: 'Seen by all' });
  const revisions = async (): Promise<number> => {
    const text = 'SELECT count(*)::int AS kept FROM risk.revisions WHERE org_id = $1';
    return (await sql.query<{ kept: number }>({ text, values: [orgId] }))[0]!.kept;
  };
  const before = await revisions();
  const text = `UPDATE risk.revisions SET created_at = created_at - interval '30 hours' WHERE org_id = $1`;
  await sql.query({ text, values: [orgId] }, { deadlineMs: withinMs });
  const isWaiting = async (): Promise<boolean> => {
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%risk.orgs%FOR UPDATE%'`;
    return (await sql.query({ text: waits })).length > 0;
  };
  let process: Surface | undefined;
  // The process removes old revisions when it starts: it waits at the lock, so that its start is not counted.
  await sql.transaction(
    async (transaction) => {
      await transaction.query({ text: 'SELECT 1 FROM risk.orgs WHERE org_id = $1 FOR UPDATE', values: [orgId] });
      process = await start({ LEDGER_INTEGRATOR: 'false' });
      await until(isWaiting, { withinMs, againMs: 5, late: 'No process wanted to remove old revisions.' });
    },
    { deadlineMs: withinMs },
  );
  const startedAt = performance.now();
  await until(async () => (await revisions()) < before, {
    ...{ withinMs, againMs: 2, late: 'Old revisions were not removed in time.' },
  });
  const tookMs = performance.now() - startedAt;
  const removed = before - (await revisions());
  await process?.stop();
  return (tookMs * 1_000) / removed;
}
