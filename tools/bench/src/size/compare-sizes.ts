import { join } from 'node:path';
import { removeCluster, startPostgres, type LocalPostgres } from '@sealgate/local-services';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { median } from '../median.ts';
import { peakRssBytesOf } from '../proc-usage.ts';
import { measureRows, type MeasuredRows } from '../rows/measure-rows.ts';
import type { Row, Summary } from '../rows/row.ts';
import { cpuUsOf } from '../rows/summarise.ts';
import { durabilityFaults, postgresSettings } from '../surfaces/durable-settings.ts';
import type { Site } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { wholeNumber } from '../text-table.ts';
import { amountsOf, type SizeName } from './amounts.ts';
import { answerTimes } from './answer-times.ts';
import { copyWork } from './copy-work.ts';
import type { Cost } from './size-cost.ts';
import type { FilledSurface, SizedLoad, SizedSurface } from './sized-surface.ts';
import { databaseBytes, weigh, type Weighed } from './weigh.ts';

/** Everything that was measured of one surface. */
export interface Compared {
  readonly costs: readonly Cost[];
  readonly weighed: readonly Weighed[];
  readonly fillMs: number;
  readonly databaseBytes: number;
  readonly bufferBytes: number;
  readonly askedPaths: number;
  readonly summaries: readonly Summary[];
  readonly faults: readonly string[];
}

/** A database of one size, and the process that answers from it. */
interface Sized {
  /** As the report says it. */
  readonly label: string;
  readonly site: Site;
  readonly filled: FilledSurface;
  readonly fillMs: number;
  surface: Surface;
}

const MEBIBYTE = 1024 ** 2;
const warmUpRequests = { cpu: 2_000, looks: 50 };
const connections = { cpu: 16, looks: 1 };
const starts = 3;

/** Fills a surface at the demo's size and at another one, and measures both in turn. */
export async function compareSizes(
  context: BenchContext,
  { sized, stack }: { readonly sized: SizedSurface; readonly stack: ReleaseStack },
): Promise<Compared> {
  const { size } = context.options;
  const server = await ownPostgres(context, sized, stack);
  const own = server.context;
  const both: Sized[] = [];
  for (const [label, one] of [
    ["the demo's size", 'S'],
    [`size ${size}`, size],
  ] as const)
    both.push(await fillSize(own, { sized, stack, label, size: one, of: both.length }));
  const [small, large] = both as [Sized, Sized];
  const weighed = await weigh(large.site, large.filled.weights);
  const bytes = await databaseBytes(large.site);
  for (const { what, bytes, rows } of weighed) context.tell(`A ${what} takes ${wholeNumber(bytes / rows)} bytes`);
  for (const { surface } of both) await surface.stop();
  const bufferBytes = Math.max(16 * MEBIBYTE, Math.round(bytes / 10));
  await server.restart(bufferBytes);
  const startCosts = await measureStarts(context, both);
  const faults = [...durabilityFaults(large.site.settings)];
  for (const { label, surface, filled } of both) {
    context.tell(`Auditing ${label}`);
    faults.push(...(await filled.faults(surface)));
  }
  const { costs, rows } = await measureLoads(own, small, large);
  const lists = await measureLists(context, small, large);
  const works = await measureWorks(context, small, large);
  return {
    costs: [...costs, ...works, ...startCosts, ...lists.costs, memoryOf(small, large)],
    weighed,
    fillMs: large.fillMs,
    databaseBytes: bytes,
    bufferBytes,
    askedPaths: lists.paths,
    summaries: rows.all.map(({ summary }) => summary),
    faults: [...faults, ...rows.withheld],
  };
}

interface OwnServer {
  /** That of the run, with this server. */
  readonly context: BenchContext;
  /** With so many bytes of buffers. */
  restart(bufferBytes: number): Promise<void>;
}

/** A PostgreSQL of its own: its buffers are set once it is known how large the data are. */
async function ownPostgres(context: BenchContext, { surface }: SizedSurface, stack: ReleaseStack): Promise<OwnServer> {
  const { folder } = context;
  const dataDirectory = join(folder, `postgres-size-${surface}`);
  const start = (sharedBuffers: string, port?: number): Promise<LocalPostgres> =>
    startPostgres({
      dataDirectory,
      removeWithOwner: folder,
      settings: { ...postgresSettings, shared_buffers: sharedBuffers },
      ...(port === undefined ? {} : { port }),
    });
  stack.own('the data of a size', () => removeCluster(dataDirectory));
  let postgres = await start('1GB');
  stack.own('the PostgreSQL of a size', () => postgres.stop());
  return {
    context: {
      ...context,
      get postgres() {
        return postgres;
      },
    },
    async restart(bufferBytes) {
      await postgres.stop();
      postgres = await start(`${Math.round(bufferBytes / 8_192)}`, postgres.port);
    },
  };
}

interface Fill extends Pick<Sized, 'label'> {
  readonly sized: SizedSurface;
  readonly stack: ReleaseStack;
  readonly size: SizeName;
  /** A number that no other size of this surface has. */
  readonly of: number;
}

async function fillSize(context: BenchContext, { sized, stack, label, size, of }: Fill): Promise<Sized> {
  context.tell(`Filling ${sized.surface}: ${label}`);
  const name = `size_${sized.surface.replaceAll('-', '_')}_${of}`;
  const site = await sized.prepare(context, { name, stack });
  const surface = await site.start();
  const startedAt = performance.now();
  const filled = await sized.fill({ context, site, surface, amounts: amountsOf(size) });
  const fillMs = performance.now() - startedAt;
  await site.sql.query({ text: 'VACUUM ANALYZE' }, { deadlineMs: 1_800_000 });
  await site.sql.query({ text: 'CHECKPOINT' }, { deadlineMs: 600_000 });
  context.tell(`Filled in ${wholeNumber(fillMs / 1_000)} s`);
  return { label, site, filled, fillMs, surface };
}

/** Starts both in turn, and leaves both running. */
async function measureStarts(
  { tell }: BenchContext,
  both: readonly [Sized, Sized] | readonly Sized[],
): Promise<Cost[]> {
  tell('Starting on both');
  const readyMs: number[][] = both.map(() => []);
  for (let turn = 1; turn <= starts; turn += 1)
    for (const [place, one] of both.entries()) {
      one.surface = await one.site.start();
      readyMs[place]!.push(one.surface.readyAfterMs);
      if (turn < starts) await one.surface.stop(turn % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    }
  const [small, large] = readyMs.map(median) as [number, number];
  return [{ what: 'start to ready', unit: 'ms', small, large, target: 'sizeStart' }];
}

async function measureLoads(
  context: BenchContext,
  small: Sized,
  large: Sized,
): Promise<{ costs: Cost[]; rows: MeasuredRows }> {
  const loads = { small: await small.filled.loads(small.surface), large: await large.filled.loads(large.surface) };
  const groups = loads.small.map((load, place) => [rowOf(small, load), rowOf(large, loads.large[place]!)]);
  const rows = await measureRows(context, groups);
  const costs = loads.small.map(({ what, unit, target }, place): Cost => {
    const [one, other] = rows.all.slice(2 * place, 2 * place + 2).map(({ summary }) => summary);
    const of = (summary: typeof one): number => (unit === 'ms' ? summary!.p50Ms : cpuUsOf(summary!));
    return { what, unit, small: of(one), large: of(other), target };
  });
  return { costs, rows };
}

function rowOf({ label, site, surface }: Sized, { what, load, requests, unit }: SizedLoad): Row {
  const kind = unit === 'ms' ? 'looks' : 'cpu';
  return {
    name: `${what}, ${label}`,
    watch: site.watch(surface),
    load: { connections: connections[kind], ...load },
    until: { requests },
    warmUpRequests: Math.min(warmUpRequests[kind], requests),
  };
}

async function measureWorks({ tell, signal }: BenchContext, small: Sized, large: Sized): Promise<Cost[]> {
  const worksOf = ({ site, filled, surface }: Sized) => [...filled.works(surface), copyWork(site)];
  const ofLarge = worksOf(large);
  const costs: Cost[] = [];
  for (const [place, { what, unit, target, run }] of worksOf(small).entries()) {
    signal.throwIfAborted();
    tell(`Measuring: ${what}`);
    costs.push({ what, unit, small: await run(), large: await ofLarge[place]!.run(), target });
  }
  return costs;
}

/** Of all that can be asked only the slowest are shown. */
const shownPaths = 8;

async function measureLists(
  { tell, signal }: BenchContext,
  small: Sized,
  large: Sized,
): Promise<{ costs: Cost[]; paths: number }> {
  tell('Asking for every path');
  const ofSmall = await answerTimes(small.filled.lists(small.surface), signal);
  const ofLarge = await answerTimes(large.filled.lists(large.surface), signal);
  const all = ofLarge.map(({ path, ms }, place): Cost => {
    return { what: path, unit: 'ms', small: ofSmall[place]!.ms, large: ms, target: 'sizeAnswer' };
  });
  return { costs: all.toSorted((one, other) => other.large - one.large).slice(0, shownPaths), paths: all.length };
}

function memoryOf(small: Sized, large: Sized): Cost {
  const of = ({ surface }: Sized): number => (peakRssBytesOf(surface.pid) ?? Number.NaN) / MEBIBYTE;
  return { what: 'most memory', unit: 'MiB', small: of(small), large: of(large), target: 'sizeMemory' };
}
