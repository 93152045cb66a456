import { cpuMsOf, machineBusyMs, rssBytesOf, type WatchedProcess } from '../proc-usage.ts';
import type { LoadResult, Usage } from './load-plan.ts';

const sampleEveryMs = 100;

export interface UsageWatch {
  end(): Pick<LoadResult, 'usage' | 'generatorCpuMs' | 'otherCpuMs'>;
}

/**
 * Measures the cost of the processes from now on, this one included; those of the same name together, with the memory
 * of the largest.
 */
export function watchUsage(watched: readonly WatchedProcess[]): UsageWatch {
  const peaks = new Map<string, number>();
  const sample = (): void => {
    for (const { name, pid } of watched) peaks.set(name, Math.max(peaks.get(name) ?? 0, rssBytesOf(pid) ?? 0));
  };
  const timer = setInterval(sample, sampleEveryMs).unref();
  const before = watched.map(cpuMsOf);
  const machineBefore = machineBusyMs();
  const own = process.cpuUsage();
  return {
    end() {
      const { user, system } = process.cpuUsage(own);
      clearInterval(timer);
      sample();
      const generatorCpuMs = (user + system) / 1_000;
      const usage: Record<string, Usage> = {};
      for (const [position, process] of watched.entries()) {
        const { name } = process;
        const cpuMs = difference(cpuMsOf(process), before[position]);
        const together = cpuMs === null ? null : cpuMs + (usage[name]?.cpuMs ?? 0);
        usage[name] = { cpuMs: together, rssBytes: peaks.get(name) || null };
      }
      const known = Object.values(usage).reduce((sum, { cpuMs }) => sum + (cpuMs ?? 0), generatorCpuMs);
      const all = difference(machineBusyMs(), machineBefore);
      const otherCpuMs = all === null ? null : Math.max(0, all - known);
      return { usage, generatorCpuMs, otherCpuMs };
    },
  };
}

function difference(after: number | undefined, before: number | undefined): number | null {
  return after === undefined || before === undefined ? null : after - before;
}
