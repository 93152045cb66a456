import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

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

/** Peak resident set size. Linux only; elsewhere undefined. */
export const peakRssBytesOf = (pid: number): number | undefined => bytesIn(pid, /^VmHWM:\s+(\d+) kB$/m);

/** Resident set size now. Linux only; elsewhere undefined. */
export const rssBytesOf = (pid: number): number | undefined => bytesIn(pid, /^VmRSS:\s+(\d+) kB$/m);

function bytesIn(pid: number, line: RegExp): number | undefined {
  const found = line.exec(readText(`/proc/${pid}/status`) ?? '');
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

/** CPU time in a measured time; null where the system does not report it. */
export interface Usage {
  /** Of the watched processes, by name. */
  readonly cpuMs: Readonly<Record<string, number | null>>;
  /** Of this process. */
  readonly generatorCpuMs: number;
  /** Of everything else on this machine. */
  readonly otherCpuMs: number | null;
}

export interface UsageWatch {
  end(): Usage;
}

/** Measures processes from now on, and this one; those of one name together. */
export function watchUsage(watched: readonly WatchedProcess[]): UsageWatch {
  const before = watched.map(cpuMsOf);
  const machineBefore = machineBusyMs();
  const own = process.cpuUsage();
  return {
    end() {
      const { user, system } = process.cpuUsage(own);
      const generatorCpuMs = (user + system) / 1_000;
      const cpuMs: Record<string, number | null> = {};
      for (const [position, process] of watched.entries()) {
        const spent = difference(cpuMsOf(process), before[position]);
        cpuMs[process.name] = spent === null ? null : spent + (cpuMs[process.name] ?? 0);
      }
      const known = Object.values(cpuMs).reduce<number>((sum, spent) => sum + (spent ?? 0), generatorCpuMs);
      const all = difference(machineBusyMs(), machineBefore);
      return { cpuMs, generatorCpuMs, otherCpuMs: all === null ? null : Math.max(0, all - known) };
    },
  };
}

function difference(after: number | undefined, before: number | undefined): number | null {
  return after === undefined || before === undefined ? null : after - before;
}
