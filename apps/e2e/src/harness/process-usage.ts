import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Memory and sockets of a process, as Linux reports them. */

export function residentBytes(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

/** What its descriptors lead to, such as `socket:[4711]`. */
export function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      return []; // It has been closed meanwhile.
    }
  });
}

export const openSockets = (pid: number): number => openFiles(pid).filter((name) => name.startsWith('socket:')).length;

const ESTABLISHED = '01';

/** Its connections to these ports of this machine. */
export function connectionsTo(pid: number, ports: ReadonlySet<number>): number {
  const own = new Set(openFiles(pid));
  const [, ...lines] = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n');
  return lines.filter((line) => {
    const [, , remote = '', state, , , , , , inode] = line.trim().split(/\s+/);
    const port = Number.parseInt(remote.split(':')[1] ?? '', 16);
    return state === ESTABLISHED && ports.has(port) && own.has(`socket:[${inode}]`);
  }).length;
}

/** Samples the memory of a process until `stop` is called, which returns the maximum. */
export function watchResident(pid: number): { stop(): Promise<number> } {
  let isOver = false;
  const watching = (async () => {
    let most = 0;
    while (!isOver) {
      most = Math.max(most, residentBytes(pid));
      await delay(20);
    }
    return most;
  })();
  return {
    stop: () => {
      isOver = true;
      return watching;
    },
  };
}
