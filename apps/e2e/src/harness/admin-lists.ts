import type { AdminClient, Members } from './admin-client.ts';
import { membersOf } from './admin-client.ts';

/** Every item of an admin list, page by page. Throws when a page is malformed, or the list does not end. */
export async function listAll(admin: AdminClient, path: string, limit = 200): Promise<Members[]> {
  const items: Members[] = [];
  const separator = path.includes('?') ? '&' : '?';
  for (let cursor = '', pages = 0; pages < 1_000; pages += 1) {
    const page = await admin.ask('GET', `${path}${separator}limit=${limit}${cursor}`);
    if (!Array.isArray(page['items'])) throw new Error(`${path} did not answer with a list.`);
    items.push(...page['items'].map(membersOf));
    if (page['nextCursor'] === null) return items;
    cursor = `&cursor=${encodeURIComponent(String(page['nextCursor']))}`;
  }
  throw new Error(`${path} does not end.`);
}

/** The number of records in a channel, as the ledger reports it. */
export async function ledgerSize(admin: AdminClient, channel: string): Promise<number> {
  const rows = await listAll(admin, '/ledger/channels');
  return Number(rows.find((row) => row['channel'] === channel)?.['size'] ?? Number.NaN);
}
