import { batchRecords } from '../bodies.ts';
import type { Row } from '../rows/row.ts';
import type { Replicas } from './spread-rows.ts';
import type { SpreadSurface } from './spread-surface.ts';

/** Their processes were warmed up with single records. */
const warmUps = 200;

/** Batches, which cost a channel most: whether its lock or a core is what they wait for. */
export async function batchRows(
  spread: SpreadSurface,
  others: readonly Replicas[],
  batchesTo: NonNullable<SpreadSurface['batchesTo']>,
): Promise<Row[]> {
  const single: Replicas = { name: 'one replica', surfaces: [spread.first], channels: 1 };
  const nameOf = ({ name }: Replicas): string => `${spread.name}, ${name}, batches of ${batchRecords}`;
  const rows: Row[] = [];
  for (const replicas of [single, ...others.filter(({ pooler }) => pooler === undefined)]) {
    const { load, ...written } = await batchesTo(replicas.channels);
    const destinations = load.destinations.flatMap((to) => replicas.surfaces.map(({ port }) => ({ ...to, port })));
    rows.push({
      name: nameOf(replicas),
      watch: spread.site.watch(...new Set([spread.first, ...replicas.surfaces])),
      load: { ...load, destinations },
      warmUpRequests: warmUps,
      ...written,
      ratios: { 'of one replica': nameOf(single) },
    });
  }
  return rows;
}
