import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Memory and sockets of a process, as Linux reports them. */

export function residentBytes(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

export function openSockets(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(`${folder}/${name}`).startsWith('socket:');
    } catch {
      return false; // It has been closed meanwhile.
    }
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
