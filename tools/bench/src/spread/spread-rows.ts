import type { LocalPgBouncer } from '@sealgate/local-services';
import type { WatchedProcess } from '../proc-usage.ts';
import type { Row } from '../rows/row.ts';
import { ratioOf } from '../rows/summarise.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { wholeNumber } from '../text-table.ts';
import type { SpreadSurface } from './spread-surface.ts';

/** Processes that share the load of a row. */
export interface Replicas {
  readonly name: string;
  readonly surfaces: readonly Surface[];
  /** Between them and PostgreSQL. */
  readonly pooler?: LocalPgBouncer;
  /** Channels at once; only the gateway has more than one. */
  readonly channels: number;
  /** The processes are those of rows before. */
  readonly isWarm?: boolean;
}

export const expressName = (connections: number): string => `Express 5, ${wholeNumber(connections)} connections`;
export const rowName = ({ name }: SpreadSurface, { name: replicas }: Pick<Replicas, 'name'>, connections: number) =>
  `${name}, ${replicas}, ${wholeNumber(connections)} connections`;

/** The yardstick, the first replica, and others beside it, all with as many connections. */
export async function spreadRows(
  spread: SpreadSurface,
  connections: number,
  others: readonly Replicas[],
): Promise<Row[]> {
  const single: Replicas = { name: 'one replica', surfaces: [spread.first], channels: 1 };
  const [express, one] = [expressName(connections), rowName(spread, single, connections)];
  const rowOf = async (replicas: Replicas): Promise<Row> => {
    const load = await spread.loadOf(replicas.channels);
    const { surfaces, pooler } = replicas;
    const row: Row = {
      name: rowName(spread, replicas, connections),
      watch: [...spread.site.watch(...new Set([spread.first, ...surfaces])), ...watchPooler(pooler)],
      load: {
        ...load,
        connections,
        destinations: load.destinations.flatMap((to) => surfaces.map(({ port }) => ({ ...to, port }))),
      },
      warmUpRequests: replicas.isWarm === true ? 1 : spread.warmUpRequests,
      recordsPerRequest: spread.recordsPerRequest,
      countsFailures: spread.mayRefuse ?? false,
      proof: spread.nextProof(),
      ratios: { 'of Express': express, 'of one replica': one },
    };
    return replicas === single ? row : { ...row, findings: findingsBeside(one) };
  };
  const rows = [await rowOf(single)];
  for (const replicas of others) rows.push(await rowOf(replicas));
  const yardstick: Row = {
    ...spread.express,
    name: express,
    load: { ...spread.express.load, connections },
    ratios: { 'of Express': express },
  };
  return [yardstick, ...rows];
}

/** All run on the same cores, so both do the same work with as much CPU: more replicas must not waste it. */
export const findingsBeside =
  (one: string): NonNullable<Row['findings']> =>
  (self, of) => [{ target: 'spreadOfSingle', value: ratioOf(self, of(one)), of: self.name }];

const watchPooler = (pooler: LocalPgBouncer | undefined): WatchedProcess[] =>
  pooler === undefined ? [] : [{ name: 'pooler', pid: pooler.pid }];
