import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findRedisServer, removeCluster, startPostgres, startRedis } from '@sealgate/local-services';
import type { BenchContext, ReleaseStack } from './bench-context.ts';
import type { BenchOptions, SectionName } from './bench-options.ts';
import { buildSurfaces, type MeasuredSurface } from './surfaces/build-surfaces.ts';
import { postgresSettings, readSettings } from './surfaces/durable-settings.ts';
import { startGenerator } from './load/generator.ts';
import { describeMachine } from './machine.ts';
import { renderReport, type RunFacts, type SectionReport } from './report.ts';
import { gateSection } from './sections/gate.ts';
import { hostileBodiesSection } from './sections/hostile-bodies.ts';
import { ledgerAtSize } from './sections/ledger-at-size.ts';
import { peerSection } from './sections/peer.ts';
import { pairSection } from './sections/pair.ts';
import { readsSection } from './sections/reads.ts';
import { sizedSurfaceOf, sizeSection } from './sections/size.ts';
import { sourcesSection } from './sections/sources.ts';
import { spreadSection } from './sections/spread.ts';
import { throughput } from './sections/throughput.ts';
import { workspaceRoot } from './workspace-root.ts';

const sections: Readonly<Record<SectionName, (context: BenchContext) => Promise<SectionReport>>> = {
  throughput,
  spread: spreadSection,
  ledger: ledgerAtSize,
  bodies: hostileBodiesSection,
  peer: peerSection,
  gate: gateSection,
  reads: readsSection,
  sources: sourcesSection,
  size: sizeSection,
  pair: pairSection,
};

/** Redis holds only copies, so evicting the oldest is safe. Every installation sets a bound. */
const redisArguments = ['--maxmemory', '256mb', '--maxmemory-policy', 'allkeys-lru'];

const settleMs = 500;

interface BenchRun {
  readonly options: BenchOptions;
  readonly stack: ReleaseStack;
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly tell: (line: string) => void;
}

/** Runs the selected sections. Returns the report, and whether all numbers are valid. */
export async function runBench(run: BenchRun): Promise<{ text: string; trusted: boolean }> {
  const { options, tell, signal } = run;
  const surfaces = measuredBy(options);
  tell(`Building ${surfaces.join(', ')}`);
  await buildSurfaces(surfaces, options.build);
  const context = await prepare(run);
  const reports: SectionReport[] = [];
  for (const name of options.sections) {
    signal.throwIfAborted();
    reports.push(await sections[name](context));
  }
  const facts: RunFacts = { machine: context.machine, settings: context.settings, options };
  const text = renderReport(facts, reports);
  if (options.markdownFile !== undefined) writeFileSync(options.markdownFile, text);
  if (options.jsonFile !== undefined)
    writeFileSync(options.jsonFile, `${JSON.stringify({ ...facts, sections: reports }, undefined, 2)}\n`);
  return { text, trusted: reports.every(({ withheld }) => withheld.length === 0) };
}

/** The surfaces of a section; the gateway, unless it is listed. */
const surfacesOf: Partial<Record<SectionName, readonly MeasuredSurface[]>> = {
  peer: ['ledger-peer'],
  gate: ['case-gate'],
  reads: ['risk-partner'],
  spread: ['ingest-gateway', 'ledger-peer', 'case-gate', 'risk-partner'],
  pair: ['ingest-gateway', 'ledger-peer', 'case-gate', 'risk-partner'],
};

const measuredBy = ({ sections: names, sizedSurfaces }: BenchOptions): MeasuredSurface[] => [
  ...new Set(
    names.flatMap((name) =>
      name === 'size'
        ? sizedSurfaces.map((letter) => sizedSurfaceOf[letter].surface)
        : (surfacesOf[name] ?? ['ingest-gateway' as const]),
    ),
  ),
];

async function prepare({ options, stack, signal, now, tell }: BenchRun): Promise<BenchContext> {
  const folder = join(options.dataFolder, `run-${process.pid}`);
  mkdirSync(folder, { recursive: true, mode: 0o711 }); // When run as root, PostgreSQL runs as another user, which must reach it.
  stack.own(folder, () => rmSync(folder, { recursive: true, force: true }));
  tell('Starting PostgreSQL');
  const dataDirectory = join(folder, 'postgres');
  stack.own('the data of PostgreSQL', () => removeCluster(dataDirectory));
  const postgres = await startPostgres({
    dataDirectory,
    settings: postgresSettings,
    removeWithOwner: folder,
    log: tell,
  });
  stack.own('PostgreSQL', () => postgres.stop());
  // When run as root the data may be elsewhere; the disk measured is the one that holds it.
  const machine = describeMachine({ folder: dirname(postgres.dataDirectory), checkout: workspaceRoot, now });
  const settings = await readSettings(postgres.url);
  const redis = await prepareRedis(folder, stack);
  const generator = startGenerator();
  stack.own('the load generator', () => generator.stop());
  const settle = (): Promise<void> => delay(settleMs);
  return { options, folder, machine, settings, postgres, redis, generator, stack, settle, tell, signal };
}

async function prepareRedis(folder: string, stack: ReleaseStack): Promise<BenchContext['redis']> {
  if (findRedisServer() === undefined) return undefined;
  const server = await startRedis({ directory: join(folder, 'redis'), args: redisArguments, removeWithOwner: folder });
  stack.own('Redis', () => server.stop());
  return { url: server.url, pid: server.pid };
}
