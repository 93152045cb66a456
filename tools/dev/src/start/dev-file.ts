import { ledgerOrigin, type Secrets } from './secrets.ts';
import type { Ground, RunningSurface } from './start-surfaces.ts';
import type { DemoData, SignIn } from './surface.ts';
import type { DemoIdentity } from '../provider/sign-in-page.ts';

/** The data for scripts and tools while everything is running: addresses without trailing slashes, and keys. */
export interface DevFile {
  readonly adminToken: string;
  /** For the owner of the schemas. */
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly surfaces: Readonly<Record<string, DevSurface>>;
  /** Absent if it is not running. */
  readonly console?: Pick<DevSurface, 'url' | 'opsUrl' | 'pid'>;
  readonly ledger: { readonly driver: string; readonly origin: string; readonly verifierKey: string };
  /** Absent without sign-in. `audience` is the token audience for scripts. */
  readonly oidc?: { readonly issuer: string; readonly clientId: string; readonly audience: string };
  readonly demo: DemoData & { readonly people?: readonly DevPerson[] };
}

/** The people of the development provider: one for each role of surface A and of the admin listeners. */
type DevPerson = Pick<DemoIdentity, 'role' | 'subject' | 'email'>;

interface DevSurface {
  readonly url: string;
  readonly opsUrl: string;
  readonly adminUrl: string;
  readonly mcpUrl?: string;
  readonly pid: number;
}

export function devFile({ stores, signIn, running }: Ground, secrets: Secrets): DevFile {
  const surfaces = running.filter(({ surface }) => surface.isConsole !== true);
  const pages = running.find(({ surface }) => surface.isConsole);
  const demo = mergeDemo(running.map((surface) => surface.demo));
  return {
    adminToken: secrets.adminToken,
    databaseUrl: stores.database.ownerUrl,
    redisUrl: stores.redisUrl ?? null,
    surfaces: Object.fromEntries(surfaces.map((surface) => [surface.name, entryOf(surface)])),
    ...(pages === undefined ? {} : { console: { url: pages.url, opsUrl: pages.opsUrl, pid: pages.pid } }),
    ledger: { driver: 'embedded', origin: ledgerOrigin, verifierKey: secrets.ledger.verifierKey },
    ...(signIn === undefined ? { demo } : signInOf(signIn, demo)),
  };
}

function signInOf({ issuer, clientId, audience, people }: SignIn, demo: DemoData): Pick<DevFile, 'oidc' | 'demo'> {
  const named = people.map(({ role, subject, email }) => ({ role, subject, email }));
  return { oidc: { issuer, clientId, audience }, demo: { ...demo, people: named } };
}

/** MCP is served by the public listener, so its address is the same; clients add the path. */
const entryOf = ({ url, opsUrl, adminUrl, mcp, pid }: RunningSurface): DevSurface => ({
  url,
  opsUrl,
  adminUrl,
  ...(mcp ? { mcpUrl: url } : {}),
  pid,
});

function mergeDemo(parts: readonly DemoData[]): DemoData {
  const keys = Object.assign({}, ...parts.map((part) => part.keys)) as Record<string, string>; // All parts have this type.
  return Object.assign({}, ...parts, { keys }) as DemoData;
}
