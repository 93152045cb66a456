import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext } from '../bench-context.ts';
import type { RiskSite } from '../gateway/risk-site.ts';
import { workspaceRoot } from '../workspace-root.ts';

export const pageItems = 100;
export const firstPage = `/api/v1/assets?limit=${pageItems}`;
const pagesToVerify = 10;

/** A walk over all pages, from the first to the last. */
export interface Walk {
  /** The cursors of pages 2, 3 and so on, with which they can be requested again. */
  readonly cursors: readonly string[];
  readonly items: number;
  /** The envelope of the first page. */
  readonly envelope: string;
  /** Number of pages whose hash and signature were verified by the outsiders' verifier. */
  readonly verified: number;
  /** Faults, as sentences. */
  readonly faults: readonly string[];
}

interface Envelope {
  readonly pagination: { readonly count: number; readonly nextCursor: string | null };
  readonly items: readonly { readonly id: string; readonly createdAt: string }[];
}

/** Reads the whole list, checks that each item comes once and in order; `sealgate-verify` verifies some pages. */
export async function walkAll(context: BenchContext, site: RiskSite, assets: number): Promise<Walk> {
  const verify = await verifierFor(context, site);
  const faults: string[] = [];
  const cursors: string[] = [];
  const verifyEvery = Math.max(1, Math.floor(assets / pageItems / pagesToVerify));
  let [items, verified, last, envelope] = [0, 0, '', ''];
  for (let cursor: string | null | undefined; cursor !== null;) {
    context.signal.throwIfAborted();
    const page = await readPage(site, cursor);
    const { pagination, items: rows } = JSON.parse(page.text) as Envelope;
    envelope ||= page.text;
    for (const { createdAt, id } of rows) {
      const place = `${createdAt} ${id}`;
      if (place <= last) faults.push(`${place} follows ${last}.`);
      last = place;
    }
    items += rows.length;
    if (pagination.nextCursor !== null && rows.length !== pageItems) faults.push(`A page has ${rows.length} items.`);
    if (cursors.length % verifyEvery === 0 || pagination.nextCursor === null) {
      if (verify(page)) verified += 1;
      else faults.push(`The envelope of page ${cursors.length + 1} does not verify.`);
    }
    cursor = pagination.nextCursor;
    if (cursor !== null) cursors.push(cursor);
  }
  if (items !== assets) faults.push(`The walk met ${items} assets, and there are ${assets}.`);
  return { cursors, items, envelope, verified, faults };
}

interface Page {
  readonly text: string;
  readonly signature: string;
}

export async function readPage({ surface, keys }: RiskSite, cursor: string | undefined): Promise<Page> {
  const path = cursor === undefined ? firstPage : `${firstPage}&cursor=${cursor}`;
  const headers = { authorization: `Bearer ${keys.partner}` };
  const response = await fetch(`http://127.0.0.1:${surface.port}${path}`, { headers });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${text.slice(0, 400)}`);
  return { text, signature: response.headers.get('evidence-signature') ?? '' };
}

/** Runs the verifier of outsiders on files as they would save them. */
async function verifierFor({ folder }: BenchContext, { surface }: RiskSite): Promise<(page: Page) => boolean> {
  const file = (name: string): string => join(folder, `reads-${name}`);
  const response = await fetch(`http://127.0.0.1:${surface.port}/.well-known/jwks.json`);
  writeFileSync(file('jwks.json'), await response.text());
  const program = join(workspaceRoot, 'tools/verify/bin/sealgate-verify.mjs');
  return ({ text, signature }) => {
    writeFileSync(file('page.json'), text);
    const options = ['--signature', signature, '--jwks', file('jwks.json')];
    try {
      execFileSync(process.execPath, [program, 'envelope', file('page.json'), ...options], { stdio: 'ignore' });
      return true;
    } catch {
      return false; // The exit code says that the envelope is invalid.
    }
  };
}
