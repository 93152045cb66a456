import { ledgerOrigin, type Secrets } from './secrets.ts';
import type { RunningSurface } from './start-surfaces.ts';
import type { Stores } from './start-stores.ts';
import type { DemoData } from './surface.ts';

/** What scripts and tools read while everything runs: addresses without trailing slashes, and the keys. */
export interface DevFile {
  readonly adminToken: string;
  /** For whoever owns the schemas. */
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly surfaces: Readonly<Record<string, DevSurface>>;
  readonly ledger: { readonly driver: string; readonly origin: string; readonly verifierKey: string };
  readonly demo: DemoData;
}

interface DevSurface {
  readonly url: string;
  readonly opsUrl: string;
  readonly adminUrl: string;
  readonly mcpUrl?: string;
  readonly pid: number;
}

export function devFile(
  running: readonly RunningSurface[],
  { stores, secrets }: { stores: Stores; secrets: Secrets },
): DevFile {
  return {
    adminToken: secrets.adminToken,
    databaseUrl: stores.database.ownerUrl,
    redisUrl: stores.redisUrl ?? null,
    surfaces: Object.fromEntries(running.map((surface) => [surface.name, entryOf(surface)])),
    ledger: { driver: 'embedded', origin: ledgerOrigin, verifierKey: secrets.ledger.verifierKey },
    demo: mergeDemo(running.map(({ demo }) => demo)),
  };
}

/** MCP is served by the public listener, so its address is the same; the path is the client's to add. */
const entryOf = ({ url, opsUrl, adminUrl, mcp, pid }: RunningSurface): DevSurface => ({
  url,
  opsUrl,
  adminUrl,
  ...(mcp ? { mcpUrl: url } : {}),
  pid,
});

export function mergeDemo(parts: readonly DemoData[]): DemoData {
  const keys = Object.assign({}, ...parts.map((part) => part.keys)) as Record<string, string>; // Only such parts went in.
  return Object.assign({}, ...parts, { keys }) as DemoData;
}
