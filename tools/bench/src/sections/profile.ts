import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { SourceMapPayload } from 'node:module';
import { join } from 'node:path';
import type { BenchContext } from '../bench-context.ts';
import { batchBody, batchRecords, recordBody, warmUpRequests } from '../bodies.ts';
import { programOf } from '../gateway/build-gateway.ts';
import { askAdmin, makeSender, type Sender } from '../gateway/gateway-admin.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import { prepareSite, type GatewaySite } from '../gateway/gateway-site.ts';
import type { LoadResult } from '../load/load-plan.ts';
import { warmUp } from '../load/warm-up.ts';
import { summariseProfile, type Cost, type CpuProfile, type ProfileSummary } from '../profile/cpu-profile.ts';
import { frameLocator } from '../profile/locate-frame.ts';
import { releaseStack } from '../release-stack.ts';
import type { ReportTable, SectionReport } from '../report.ts';
import { decimals, wholeNumber } from '../text-table.ts';
import { workspaceRoot } from '../workspace-root.ts';

const shownModules = 20;
const shownFunctions = 25;
const mebibyte = 1024 * 1024;

interface Profiled extends ProfileSummary {
  readonly what: string;
  /** What the times are divided by. */
  readonly unit: 'request' | 'record';
  readonly count: number;
  readonly memory: NodeJS.MemoryUsage;
}

interface Profiling {
  readonly context: BenchContext;
  readonly site: GatewaySite;
  readonly gateway: Gateway;
  readonly sender: Sender;
}

/** Where the gateway's main thread spends its time: single records and batches once it is warm, and an audit. */
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

/** Of everything that the loads before have written. */
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

async function profile(
  { context, gateway }: Profiling,
  { what, unit, work }: Pick<Profiled, 'what' | 'unit'> & { work: () => Promise<number> },
): Promise<Profiled> {
  context.tell(`Profiling: ${what}`);
  const file = join(context.folder, `${what.replaceAll(' ', '-')}.cpuprofile`);
  const { result, memory } = await gateway.profile(file, work);
  const recorded: CpuProfile = JSON.parse(readFileSync(file, 'utf8'));
  const bundle = programOf('ingest-gateway');
  const map: SourceMapPayload = JSON.parse(readFileSync(`${bundle}.map`, 'utf8'));
  const locate = frameLocator({ bundle, map, root: workspaceRoot });
  return { ...summariseProfile(recorded, locate), what, unit, count: result, memory };
}

function reportOf(profiled: readonly Profiled[]): SectionReport {
  return {
    title: "Where the gateway's main thread spends its time",
    tables: profiled.flatMap((one) => [
      costTable(one, { title: `${one.what}: module`, costs: one.modules.slice(0, shownModules) }),
      costTable(one, { title: `${one.what}: function`, costs: one.functions.slice(0, shownFunctions) }),
    ]),
    notes: [
      ...profiled.map(summaryLine),
      'A function has its own time, without what it called. A module has also what it called of Node and of native code (a hash, a system call); modules of Node are what the event loop did by itself. (program) is native code outside of any function, (garbage collector) its part on the main thread. Other threads and PostgreSQL are in the throughput table.',
    ],
    findings: [],
    withheld: [],
    measured: profiled,
  };
}

function summaryLine({ what, unit, count, busyUs, memory }: Profiled): string {
  const mebibytes = (bytes: number): string => `${wholeNumber(bytes / mebibyte)} MiB`;
  const { rss, heapTotal, heapUsed, external } = memory;
  const time = `${wholeNumber(count)} ${unit}s, ${decimals(busyUs / count, 1)} us each on the main thread, profiler included`;
  return `${what}: ${time}; memory at its end ${mebibytes(rss)}, of it heap ${mebibytes(heapTotal)} (${mebibytes(heapUsed)} used) and buffers outside of it ${mebibytes(external)}.`;
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
