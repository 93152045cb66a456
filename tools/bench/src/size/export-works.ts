import { rssBytesOf } from '../proc-usage.ts';
import type { SizedWork } from './sized-surface.ts';

/** However many rows there are: an export is read for so long, and its cost is that of a row. */
const readForMs = 60_000;
const newline = 0x0a;
const lookEveryMs = 20;
const MEBIBYTE = 1024 ** 2;

interface Export {
  /** In the plural. */
  readonly what: string;
  /** Of a row. */
  readonly unit: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Rows that there are at least. */
  readonly least: number;
  /** The process that answers. */
  readonly pid: number;
}

/** What a CSV export takes for each row, and by how much the process grows meanwhile: both of one export. */
export function exportWorks(asked: Export): SizedWork[] {
  let read: ReturnType<typeof readExport> | undefined;
  const once = () => (read ??= readExport(asked));
  return [
    {
      what: `export of ${asked.what}`,
      ...{ unit: asked.unit, target: 'sizeRatio' },
      run: async () => (await once()).usOfRow,
    },
    {
      what: `memory for an export of ${asked.what}`,
      ...{ unit: 'MiB', target: undefined },
      run: async () => (await once()).grownMiB,
    },
  ];
}

/** Throws when it fails, or ends before so many rows. */
async function readExport({ url, headers, least, pid }: Export): Promise<{ usOfRow: number; grownMiB: number }> {
  const abort = new AbortController();
  const before = rssBytesOf(pid) ?? Number.NaN;
  let most = before;
  const look = setInterval(() => (most = Math.max(most, rssBytesOf(pid) ?? Number.NaN)), lookEveryMs);
  const startedAt = performance.now();
  let rows = -1; // The first line has the names of the columns.
  try {
    const answer = await fetch(url, { headers, signal: abort.signal });
    if (answer.status !== 200 || answer.body === null) throw new Error(`The export answered ${answer.status}.`);
    for await (const chunk of answer.body) {
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) rows += 1;
      if (performance.now() - startedAt > readForMs) break;
    }
  } finally {
    clearInterval(look);
  }
  const tookMs = performance.now() - startedAt;
  abort.abort();
  if (rows < least) throw new Error(`The export has ${rows} rows, and ${least} at least were expected.`);
  return { usOfRow: (tookMs * 1_000) / rows, grownMiB: (most - before) / MEBIBYTE };
}
