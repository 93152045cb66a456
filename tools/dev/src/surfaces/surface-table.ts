import type { Surface } from '../start/surface.ts';
import { appsWith } from '../workspace.ts';
import { ingestGateway } from './ingest-gateway.ts';

/** In the order in which they start. A new surface is one more row. */
const table: readonly Surface[] = [ingestGateway];

/** The surfaces of the table that are built in this checkout. */
export function existingSurfaces(): Surface[] {
  const built = appsWith('src/main.ts');
  return table.filter(({ name }) => built.includes(name));
}
