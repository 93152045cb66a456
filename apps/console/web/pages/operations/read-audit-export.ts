import { server } from '../../shell/api.ts';
import { ProblemError } from '../../shell/problem.ts';
import type { SurfaceId } from '../../shell/session.ts';
import * as texts from './texts.ts';

/** What has arrived of an export. */
export interface AuditArrived {
  readonly events: number;
  readonly pages: number;
}

interface ExportedPage {
  readonly items: readonly unknown[];
  readonly to: string;
  readonly nextCursor: string | null;
}

interface Wanted {
  readonly surface: SurfaceId;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly signal: AbortSignal;
  readonly onArrived: (arrived: AuditArrived) => void;
}

/** A larger one is for `npx sealgate audit export`, which writes it page by page. */
export const MAX_EXPORT_CHARACTERS = 32 * 1024 * 1024;

/** The routes are the same on all admin listeners. */
const audit = (surface: SurfaceId) => `/admin/${surface}/admin/v1/audit` as '/admin/ingest-gateway/admin/v1/audit';

/**
 * Reads the signed export of a period to its end, as NDJSON: one page a line, which hash and signature cover in canonical
 * form. Throws ProblemError, also if it is too large for a page, and what `signal` was aborted with.
 */
export async function readAuditExport({ surface, from, to, signal, onArrived }: Wanted) {
  const lines: string[] = [];
  let [events, characters, cursor, until]: [number, number, string | null, string] = [0, 0, null, ''];
  do {
    const query: { limit: number; from?: string; to?: string; cursor?: string } = {
      limit: 200,
      ...(from && { from }),
      ...(to && { to }),
      ...(cursor && { cursor }),
    };
    const { data } = await server.GET(`${audit(surface)}/export`, {
      params: { query },
      signal,
    });
    const page: ExportedPage = data!;
    signal.throwIfAborted();
    const line = `${JSON.stringify(page)}\n`;
    characters += line.length;
    if (characters > MAX_EXPORT_CHARACTERS)
      throw new ProblemError({
        title: texts.tooMuchForAPage,
        status: 0,
        code: 'TOO_LARGE',
        detail: texts.tooMuchForAPageHint,
      });
    lines.push(line);
    events += page.items.length;
    [cursor, until] = [page.nextCursor, page.to];
    onArrived({ events, pages: lines.length });
  } while (cursor !== null);
  return { name: `${surface}-audit-until-${until.slice(0, 10)}.ndjson`, text: lines.join(''), events };
}

/** The key set that a service signs its exports with. */
export const readAuditKeys = async (surface: SurfaceId): Promise<unknown> =>
  (await server.GET(`${audit(surface)}/keys`)).data;
