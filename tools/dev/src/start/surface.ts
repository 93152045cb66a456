import { isPortFree } from '@sealgate/local-services';
import type { Secrets } from './secrets.ts';
import { UserError } from './user-error.ts';
import type { DemoIdentity } from '../provider/sign-in-page.ts';

/** The sign-in of demo people. */
export interface SignIn {
  readonly issuer: string;
  /** A public client for scripts. */
  readonly clientId: string;
  /** The token audience for scripts: accepted by every listener except MCP, which has its own audience. */
  readonly audience: string;
  readonly people: readonly DemoIdentity[];
}

/** Input for the environment of a surface. */
export interface SurfaceContext {
  readonly ports: SurfacePorts;
  readonly secrets: Secrets;
  /** For the runtime role of this surface. */
  readonly databaseUrl: string;
  /** For the ledger on the admin listener; undefined without such a role. */
  readonly operatorUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly checkpoints: string;
  readonly archive: string;
  /** Whether this surface is the integrator of the ledger. */
  readonly integrates: boolean;
  /** Undefined without sign-in. */
  readonly signIn: SignIn | undefined;
  /** Accepted audiences of access tokens by listener, without MCP, whose audience is its address. */
  readonly audience: SurfaceAudience;
  /** Undefined where the console does not run. */
  readonly consoleUrl: string | undefined;
  /** Surfaces that are already running: all others, for the console. */
  readonly running: readonly RunningListeners[];
}

/** `api` is absent for a surface whose public listener takes only keys. */
export interface SurfaceAudience {
  readonly api?: readonly string[];
  readonly admin: readonly string[];
}

/** Addresses of a surface, without trailing slashes. */
export interface RunningListeners {
  readonly name: string;
  readonly url: string;
  readonly adminUrl: string;
  readonly opsUrl: string;
  /** Serves MCP on the public listener, which then accepts access tokens as well. */
  readonly mcp: boolean;
}

/** Members of `demo` in dev.json, from each surface. */
export interface DemoData {
  readonly networkId?: string;
  /** The full name, `<networkId>.<name>`. */
  readonly channel?: string;
  readonly assetTypes?: readonly string[];
  readonly orgId?: string;
  readonly environment?: string;
  readonly venueId?: string;
  readonly keys: Readonly<Record<string, string>>;
}

export interface DemoContext {
  /** The public listener, without a trailing slash. */
  readonly url: string;
  /** The admin listener, without a trailing slash. */
  readonly adminUrl: string;
  /** For the runtime role of this surface. */
  readonly databaseUrl: string;
  readonly secrets: Secrets;
  readonly signIn: SignIn | undefined;
}

/** An example command with a description. */
export interface Example {
  readonly what: string;
  readonly line: string;
}

export interface ExampleContext {
  readonly url: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly verifierKey: string;
  readonly demo: DemoData;
  /** A folder for responses, as a short path. */
  readonly folder: string;
  /** The data folder, absolute. */
  readonly dataPath: string;
}

/** Everything that `npm start` needs to know about a surface. */
export interface Surface {
  readonly name: string;
  /** 1 to 4 in the order A, B, C, D; the console is 5. Determines its ports. */
  readonly number: number;
  /** The console: no migrations, no database, no admin listener, and sign-in required. */
  readonly isConsole?: true;
  /** Serves MCP on the public listener, which then accepts access tokens as well. */
  readonly mcp: boolean;
  /** Is the integrator if it is the first such surface among the running ones. */
  readonly canIntegrate: boolean;
  /** Node options in addition to those of every service; they take precedence. */
  readonly nodeOptions?: readonly string[];
  /** The programs that Node runs, in the folder filled by `build`. */
  programs(output: string): { readonly main: string; readonly migrate?: string };
  /** Builds the bundles into that folder; undefined if there is nothing to build. */
  readonly build?: (output: string) => Promise<void>;
  env(context: SurfaceContext): Readonly<Record<string, string>>;
  /** Creates missing demo data over the admin API, once the surface is ready. */
  demo(context: DemoContext): Promise<DemoData>;
  examples(context: ExampleContext): readonly Example[];
}

interface SurfacePorts {
  readonly public: number;
  readonly ops: number;
  readonly admin: number;
}

/** The ports of the surface with that number (A is 1 ... D is 4). They do not depend on which surfaces run. */
export function portsOf(base: number, number: number): SurfacePorts {
  return { public: base + number, ops: base + 50 + number, admin: base + 100 + number };
}

/** Port of the development provider. */
export const providerPort = (base: number): number => base + 80;
/** Number of the console. */
export const CONSOLE_NUMBER = 5;
export const postgresPort = (base: number): number => base + 90;
export const redisPort = (base: number): number => base + 91;

export interface NeededPort {
  readonly port: number;
  /** What needs it, such as "ingest-gateway (admin)". */
  readonly purpose: string;
  /** Whether browsers and `fetch` have to reach it. */
  readonly isHttp: boolean;
}

/** Ports above 1023 that browsers, and the fetch of Node, never connect to (WHATWG Fetch, "port blocking"). */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566],
  ...[6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080],
]);

/** @throws UserError naming a port that browsers would have to reach and cannot. */
export function refuseBlocked(needed: readonly NeededPort[]): void {
  const blocked = needed.find(({ port, isHttp }) => isHttp && BLOCKED_PORTS.has(port));
  if (blocked === undefined) return;
  throw new UserError(
    `Browsers refuse to connect to the port ${blocked.port}, for ${blocked.purpose}. Choose others with --port-base N.`,
  );
}

/** @throws UserError listing all ports in use, or one that nobody could connect to. */
export async function checkPorts(needed: readonly NeededPort[]): Promise<void> {
  refuseBlocked(needed);
  const taken: string[] = [];
  for (const { port, purpose } of needed) if (!(await isPortFree(port))) taken.push(`${port} for ${purpose}`);
  if (taken.length === 0) return;
  const [subject, verb] = taken.length === 1 ? ['The port', 'is'] : ['The ports', 'are'];
  throw new UserError(`${subject} ${taken.join(', ')} ${verb} in use. Choose others with --port-base N.`);
}
