import { readdirSync, readFileSync } from 'node:fs';

/** The child processes of a postmaster, with their titles (`postgres: gateway test_1 127.0.0.1(40112) idle`). */
function childrenOf(postmaster: number): { pid: number; title: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        // The program name is in parentheses and may contain anything; the parent pid is the second word after it.
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        if (parent !== postmaster) return [];
        const title = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return [{ pid: Number(name), title }];
      } catch {
        return []; // It has ended meanwhile.
      }
    });
}

/** Processes can only be inspected on Linux. */
export const canSeeProcesses: boolean = process.platform === 'linux';

/** Cuts every connection of a database by signals, as pg_terminate_backend does. Returns their number. */
export function cutConnections(postmaster: number, database: string): number {
  const backends = childrenOf(postmaster).filter(({ title }) => title.includes(` ${database} 127.0.0.1(`));
  for (const { pid } of backends) signal(pid, 'SIGTERM');
  return backends.length;
}

/** Stops the whole server (SIGSTOP), the postmaster first. Returns the function that continues it. */
export function freezePostgres(postmaster: number): () => void {
  process.kill(postmaster, 'SIGSTOP');
  const frozen = childrenOf(postmaster).map(({ pid }) => pid);
  for (const pid of frozen) signal(pid, 'SIGSTOP');
  return () => {
    for (const pid of [...frozen, postmaster]) signal(pid, 'SIGCONT');
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
