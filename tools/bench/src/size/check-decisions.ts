import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Site } from '../surfaces/site.ts';
import { askAdmin, UnexpectedAnswerError } from '../surfaces/admin.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { until } from '../until.ts';
import { workspaceRoot } from '../workspace-root.ts';

interface Page {
  readonly items: readonly object[];
  readonly nextCursor: string | null;
}

const headWithinMs = 120_000;

/** What an auditor does: saves the heads and the log of decisions, and runs the verifier. Returns what it finds wrong. */
export async function checkDecisions(
  surface: Surface,
  { site, folder }: { readonly site: Pick<Site, 'verifierKey'>; readonly folder: string },
): Promise<string[]> {
  await untilHead(surface);
  const [heads, log] = [join(folder, 'heads.ndjson'), join(folder, 'decisions.ndjson')];
  await saveList(surface, '/decision-heads', heads);
  await saveList(surface, '/decision-log', log);
  const program = join(workspaceRoot, 'tools/verify/bin/sealgate-verify.mjs');
  const parameters = [program, 'decisions', log, heads, '--key', site.verifierKey, '--channel', 'gate.seals'];
  return new Promise((resolve) => {
    execFile(process.execPath, parameters, (error, stdout, stderr) =>
      resolve(error === null ? [] : [`The verifier refuses the log of decisions: ${(stderr || stdout).slice(0, 400)}`]),
    );
  });
}

/** A head is written when a process ends, and is in the ledger soon after the next one starts. */
const untilHead = (surface: Surface): Promise<void> =>
  until(() => hasHead(surface), {
    ...{ withinMs: headWithinMs, againMs: 250 },
    late: 'No head of the decisions came into the ledger in time.',
  });

/** The first to ask for records by their type has those indexed that are there, and is told 503 until then. */
async function hasHead(surface: Surface): Promise<boolean> {
  try {
    return (await pageOf(surface, '/decision-heads?limit=1')).items.length > 0;
  } catch (error) {
    if (error instanceof UnexpectedAnswerError && error.status === 503) return false;
    throw error;
  }
}

const pageOf = async (surface: Surface, path: string): Promise<Page> =>
  JSON.parse(await askAdmin(surface, { method: 'GET', path })) as Page;

/** As lines, page by page: there may be millions. */
async function saveList(surface: Surface, path: string, file: string): Promise<void> {
  async function* lines(): AsyncGenerator<string> {
    for (let cursor = ''; ;) {
      const { items, nextCursor } = await pageOf(surface, `${path}?limit=200${cursor}`);
      yield items.map((item) => `${JSON.stringify(item)}\n`).join('');
      if (nextCursor === null) return;
      cursor = `&cursor=${nextCursor}`;
    }
  }
  await pipeline(lines(), createWriteStream(file));
}
