import { DEMO_IDENTITIES, type DemoIdentity } from '../provider/demo-people.ts';
import { startDevelopmentProvider } from '../provider/development-provider.ts';
import { CLI_CLIENT } from '../provider/provider-configuration.ts';
import { CONSOLE_NUMBER, portsOf, providerPort } from './ports.ts';
import type { StartContext } from './start-context.ts';
import type { Surface } from './surface.ts';

/** Where the people of the demo sign in. */
export interface SignIn {
  readonly issuer: string;
  /** A public client for scripts. */
  readonly clientId: string;
  /** What scripts ask tokens for: every listener takes them, but that of the tools, which has an audience of its own. */
  readonly audience: string;
  readonly people: readonly DemoIdentity[];
}

/** Whether it is there at all: it lets anybody be anybody. */
export const hasSignIn = (env: NodeJS.ProcessEnv): boolean => env['NODE_ENV'] !== 'production';

const SHARED_AUDIENCE = 'urn:sealgate:demo';

const local = (port: number): string => `http://127.0.0.1:${port}`;

/** What access tokens for a surface may be for: its admin listener, its public listener where that takes any, all alike. */
export function audienceOf({ number, mcp }: Pick<Surface, 'number' | 'mcp'>, portBase: number): [string, ...string[]] {
  const { public: open, admin } = portsOf(portBase, number);
  return [SHARED_AUDIENCE, local(admin), ...(mcp ? [local(open)] : [])];
}

/** Starts the development provider for the surfaces that run; undefined in production, where nobody signs in. */
export async function startSignIn(context: StartContext): Promise<SignIn | undefined> {
  const { options, surfaces, secrets, data, env, stack, tell } = context;
  const { portBase } = options;
  if (!hasSignIn(env)) {
    tell('NODE_ENV is production: the development provider stays off, and nobody can sign in.');
    return undefined;
  }
  tell('Starting the development provider');
  const tools = surfaces.filter(({ mcp }) => mcp).map(({ number }) => `${local(portsOf(portBase, number).public)}/mcp`);
  const listeners = surfaces
    .filter(({ isConsole }) => isConsole !== true)
    .flatMap((surface) => audienceOf(surface, portBase));
  const provider = await startDevelopmentProvider({
    port: providerPort(portBase),
    audiences: [SHARED_AUDIENCE, ...listeners.filter((audience) => audience !== SHARED_AUDIENCE), ...tools],
    consoleUrl: local(portsOf(portBase, CONSOLE_NUMBER).public),
    secrets,
    storeFile: data.providerFile,
    env,
    now: Date.now,
    tell,
  });
  stack.own('the development provider', () => provider.stop());
  return { issuer: provider.issuer, clientId: CLI_CLIENT, audience: SHARED_AUDIENCE, people: DEMO_IDENTITIES };
}
