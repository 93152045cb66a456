import type { SurfacePorts } from './ports.ts';
import type { Secrets } from './secrets.ts';
import type { SignIn } from './sign-in.ts';

/** What a surface is told to make its environment from. */
export interface SurfaceContext {
  readonly ports: SurfacePorts;
  readonly secrets: Secrets;
  /** For the run-time role of this surface. */
  readonly databaseUrl: string;
  /** For the ledger on the admin listener; undefined where there is no such role. */
  readonly operatorUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly checkpoints: string;
  readonly archive: string;
  /** Whether this surface is the one that builds and signs the ledger's tree. */
  readonly integrates: boolean;
  /** Where people sign in; undefined where nobody does. */
  readonly signIn: SignIn | undefined;
  /** What access tokens for this surface may be for, tools aside. */
  readonly audience: readonly string[];
  /** Those that run already: all others, where this is the console. */
  readonly running: readonly RunningListeners[];
}

/** Where a surface can be reached, without trailing slashes. */
export interface RunningListeners {
  readonly name: string;
  readonly url: string;
  readonly adminUrl: string;
  readonly opsUrl: string;
  /** Serves MCP on the public listener, which then takes access tokens as well. */
  readonly mcp: boolean;
}

/** Members of `demo` in dev.json; each surface gives its own. */
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
  readonly secrets: Secrets;
  readonly signIn: SignIn | undefined;
}

/** Lines to copy, each with what it shows. */
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
  /** Where answers may be kept, as short as it can be written. */
  readonly folder: string;
  /** The data folder, absolute. */
  readonly dataPath: string;
}

/** One row of the table of surfaces: all that `npm start` has to know of it. */
export interface Surface {
  readonly name: string;
  /** 1 to 4 in the order A, B, C, D; the console is 5: where its ports lie. */
  readonly number: number;
  /** The pages over all others: nothing to migrate, no database, no admin listener, and nobody who is not signed in. */
  readonly isConsole?: true;
  /** Serves MCP on the public listener, which then takes access tokens as well. */
  readonly mcp: boolean;
  /** Builds the ledger's tree when it is the first such surface among those that run. */
  readonly canIntegrate: boolean;
  /** Options of Node besides those of every service; where both name one, these hold. */
  readonly nodeOptions?: readonly string[];
  /** What Node runs, in the folder that `build` fills. */
  programs(output: string): { readonly main: string; readonly migrate?: string };
  /** Makes the bundles in that folder; undefined where there is nothing to make. */
  readonly build?: (output: string) => Promise<void>;
  env(context: SurfaceContext): Readonly<Record<string, string>>;
  /** Makes the demo data that is missing, over the admin API, once the surface is ready. */
  demo(context: DemoContext): Promise<DemoData>;
  examples(context: ExampleContext): readonly Example[];
}
