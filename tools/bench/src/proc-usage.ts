import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { LoadResult, Usage } from './load/load-plan.ts';

/** A process whose cost is counted. `family`: with its children, those that ended meanwhile included (PostgreSQL). */
export interface WatchedProcess {
  readonly name: string;
  readonly pid: number;
  readonly family?: boolean;
}

interface Stat {
  readonly parent: number;
  /** Clock ticks of the process itself, user and system. */
  readonly own: number;
  /** Clock ticks of children that ended and were waited for. */
  readonly ended: number;
}

let ticksPerSecond: number | undefined;

function tickMs(): number {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return 1_000 / ticksPerSecond;
}

/** The live child processes of this one. Linux only; elsewhere none. */
export function childrenOf(pid: number): number[] {
  const numbers = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  return numbers.map(Number).filter((child) => readStat(child)?.parent === pid);
}

/** CPU milliseconds, user and system, of all threads since the process began. Linux only; elsewhere undefined. */
export function cpuMsOf({ pid, family = false }: WatchedProcess): number | undefined {
  const stat = readStat(pid);
  if (stat === undefined) return undefined;
  if (!family) return stat.own * tickMs();
  const living = childrenOf(pid).reduce((sum, child) => sum + (readStat(child)?.own ?? 0), 0);
  return (stat.own + stat.ended + living) * tickMs();
}

/** CPU milliseconds of all cores that were spent on anything or stolen from this machine. Linux only. */
function machineBusyMs(): number | undefined {
  const line = readText('/proc/stat')?.split('\n')[0];
  if (line === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, stolen = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq + stolen) * tickMs();
}

/** Current resident set size in bytes. Linux only; elsewhere undefined. */
export function rssBytesOf(pid: number): number | undefined {
  return statusKibibytes(pid, 'VmRSS');
}

/** Peak resident set size. Linux only; elsewhere undefined. */
export function peakRssBytesOf(pid: number): number | undefined {
  return statusKibibytes(pid, 'VmHWM');
}

function statusKibibytes(pid: number, member: string): number | undefined {
  const text = readText(`/proc/${pid}/status`);
  const found = text === undefined ? null : new RegExp(`^${member}:\\s+(\\d+) kB$`, 'm').exec(text);
  return found === null ? undefined : Number(found[1]) * 1_024;
}

/** Field numbers are those of proc(5), counted from the program name, which may contain spaces and parentheses. */
function readStat(pid: number): Stat | undefined {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return { parent: field(4), own: field(14) + field(15), ended: field(16) + field(17) };
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // No /proc on this system, or the process is gone.
  }
}

const sampleEveryMs = 100;

export interface UsageWatch {
  end(): Pick<LoadResult, 'usage' | 'generatorCpuMs' | 'otherCpuMs'>;
}

/** Measures processes from now on, and this one; those of one name together, with the memory of the largest. */
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
