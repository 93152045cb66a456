import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { SourceMapPayload } from 'node:module';
import { dirname, join } from 'node:path';
import { releaseStack, type BenchContext } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import { programOf, type MeasuredSurface } from '../gateway/build-gateway.ts';
import { askAdmin, makeSender, type Sender } from '../gateway/gateway-admin.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { prepareSite, type GatewaySite } from '../gateway/gateway-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import { warmUp } from '../load/warm-up.ts';
import {
  frameLocator,
  summariseProfile,
  type Cost,
  type CpuProfile,
  type ProfileSummary,
} from '../profile/cpu-profile.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import { decimals, wholeNumber } from '../text-table.ts';
import { workspaceRoot } from '../workspace-root.ts';

const shownModules = 20;
const shownFunctions = 25;
const mebibyte = 1024 * 1024;

/** The profile of one kind of work. */
export interface Profiled extends ProfileSummary {
  readonly what: string;
  /** The unit by which times are divided. */
  readonly unit: 'request' | 'record';
  readonly count: number;
  readonly memory: NodeJS.MemoryUsage;
}

interface ProfiledProcess {
  readonly context: BenchContext;
  readonly gateway: Gateway;
  readonly surface?: MeasuredSurface;
}

interface Profiling extends ProfiledProcess {
  readonly site: GatewaySite;
  readonly sender: Sender;
}

/** Profiles the gateway's main thread: single records and batches once it is warm, and an audit. */
export async function profileSection(context: BenchContext): Promise<SectionReport> {
  const stack = releaseStack();
  context.stack.own('the profiled gateway', async () => void (await stack.releaseAll()));
  const site = await prepareSite(context, { name: 'profiled', redisUrl: context.redis?.url, stack });
  const gateway = await site.start();
  const sender = await makeSender({ site, gateway }, 'profiled');
  const profiling: Profiling = { context, site, gateway, sender };
  const profiled = [
    await profileLoad(profiling, { what: 'single records', body: recordBody(), warmUpBy: warmUpRequests.single }),
    await profileLoad(profiling, {
      what: `batches of ${batchRecords}`,
      body: batchBody(batchRecords),
      warmUpBy: warmUpRequests.batch,
    }),
    await profileAudit(profiling),
  ];
  await stack.releaseAll();
  return reportOf(profiled);
}

interface ProfiledLoad {
  readonly what: string;
  readonly body: string;
  readonly warmUpBy: number;
}

async function profileLoad(profiling: Profiling, { what, body, warmUpBy }: ProfiledLoad): Promise<Profiled> {
  const { context, gateway, sender } = profiling;
  const { options, generator, signal } = context;
  const load = (durationMs: number): Promise<LoadResult> =>
    generator.run({
      ...{ port: gateway.port, path: sender.path, headers: sender.headers, body, watch: [] },
      keyPrefix: `profile-${randomBytes(6).toString('hex')}`,
      connections: options.connections,
      until: { durationMs },
    });
  await warmUp(() => load(options.warmUpMs), { requests: warmUpBy, signal });
  const work = async (): Promise<number> => (await load(options.roundMs)).succeeded;
  return profile(profiling, { what, unit: 'request', work });
}

/** Audits all that the previous loads have written. */
function profileAudit(profiling: Profiling): Promise<Profiled> {
  const { site, gateway, sender } = profiling;
  const path = `/ledger/channels/${sender.channel}/audit`;
  const work = async (): Promise<number> => {
    const report: { size: number } = JSON.parse(
      await askAdmin({ site, gateway }, { method: 'POST', path, expect: 200 }),
    );
    return report.size;
  };
  return profile(profiling, { what: 'full audit', unit: 'record', work });
}

/** `work` returns the amount done. The default surface is the gateway. */
export async function profile(
  { context, gateway, surface = 'ingest-gateway' }: ProfiledProcess,
  { what, unit, work }: Pick<Profiled, 'what' | 'unit'> & { work: () => Promise<number> },
): Promise<Profiled> {
  context.tell(`Profiling: ${what}`);
  const file = join(context.folder, `${what.replaceAll(' ', '-')}.cpuprofile`);
  const { result, memory } = await gateway.profile(file, work);
  const recorded: CpuProfile = JSON.parse(readFileSync(file, 'utf8'));
  const bundle = programOf(surface);
  const readMap = (program: string): SourceMapPayload => JSON.parse(readFileSync(`${program}.map`, 'utf8'));
  const parts = readdirSync(dirname(bundle)).filter((name) => name.endsWith('.js.map'));
  const chunks = new Map(
    parts.map((name) => join(dirname(bundle), name.slice(0, -4))).map((file) => [file, readMap(file)]),
  );
  const locate = frameLocator({ bundle, map: readMap(bundle), chunks, root: workspaceRoot });
  return { ...summariseProfile(recorded, locate), what, unit, count: result, memory };
}

function reportOf(profiled: readonly Profiled[]): SectionReport {
  return {
    title: "Where the gateway's main thread spends its time",
    tables: profiled.flatMap(costTables),
    notes: [
      ...profiled.map(summaryLine),
      'A function is shown with its self time. A module also includes the Node and native code that it called (a hash, a system call); modules of Node are the work of the event loop itself. (program) is native code outside of any function, (garbage collector) its part on the main thread. Other threads and PostgreSQL are in the throughput table.',
    ],
    findings: [],
    withheld: [],
    measured: profiled,
  };
}

/** By module and by function, most expensive first. */
export function costTables(one: Profiled): ReportTable[] {
  return [
    costTable(one, { title: `${one.what}: module`, costs: one.modules.slice(0, shownModules) }),
    costTable(one, { title: `${one.what}: function`, costs: one.functions.slice(0, shownFunctions) }),
  ];
}

export function summaryLine({ what, unit, count, busyUs, memory }: Profiled): string {
  const mebibytes = (bytes: number): string => `${wholeNumber(bytes / mebibyte)} MiB`;
  const { rss, heapTotal, heapUsed, external } = memory;
  const time = `${wholeNumber(count)} ${unit}s, ${decimals(busyUs / count, 1)} us each on the main thread, profiler included`;
  return `${what}: ${time}; memory at the end ${mebibytes(rss)}, including heap ${mebibytes(heapTotal)} (${mebibytes(heapUsed)} used) and external buffers ${mebibytes(external)}.`;
}

function costTable(
  { busyUs, unit, count }: Profiled,
  { title, costs }: { title: string; costs: readonly Cost[] },
): ReportTable {
  return {
    columns: [{ name: title }, { name: 'share', right: true }, { name: `us per ${unit}`, right: true }],
    rows: costs.map(({ name, microseconds }) => [
      name,
      `${decimals((microseconds * 100) / busyUs, 1)} %`,
      decimals(microseconds / count, 2),
    ]),
  };
}
