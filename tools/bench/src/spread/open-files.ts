import { readFileSync } from 'node:fs';

/** Beside its connections a server has files, and connections to databases. */
const otherFiles = 200;

/** How many files a process may open, by /proc/self/limits: Node raises the soft limit to the hard one. */
export function openFilesLimit(limits = readLimits()): number {
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1];
  return hard === undefined ? Number.POSITIVE_INFINITY : Number(hard);
}

/** The numbers of connections for which a process may open enough files, and what to do about the others. */
export function connectionsWithin(
  wanted: readonly number[],
  limit: number,
): { readonly connections: readonly number[]; readonly said: readonly string[] } {
  const connections = wanted.filter((count) => count + otherFiles <= limit);
  const left = wanted.filter((count) => count + otherFiles > limit);
  const said = left.map(
    (count) =>
      `Rows with ${count} connections are left out: they need ${count + otherFiles} open files in a process, and this system allows ${limit}. Raise the hard limit (\`ulimit -Hn\`).`,
  );
  return { connections, said };
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return ''; // Not Linux: the limit is unknown, and a connection that cannot be opened ends the run.
  }
}
