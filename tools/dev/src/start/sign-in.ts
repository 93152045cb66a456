import { startDevelopmentProvider } from '../provider/development-provider.ts';
import { CLI_CLIENT, DEMO_IDENTITIES } from '../provider/provider-configuration.ts';
import type { StartContext } from './start-context.ts';
import { CONSOLE_NUMBER, portsOf, providerPort, type SignIn, type Surface, type SurfaceAudience } from './surface.ts';

/** Whether the provider runs: it has no authentication. */
export const hasSignIn = (env: NodeJS.ProcessEnv): boolean => env['NODE_ENV'] !== 'production';

const SHARED_AUDIENCE = 'urn:sealgate:demo';

const local = (port: number): string => `http://127.0.0.1:${port}`;

/**
 * The accepted token audiences of a surface by listener: its own address, and the shared one. Public listeners without
 * MCP accept no tokens.
 */
export function audienceOf({ number, mcp }: Pick<Surface, 'number' | 'mcp'>, portBase: number): SurfaceAudience {
  const { public: open, admin } = portsOf(portBase, number);
  return {
    ...(mcp ? { api: [SHARED_AUDIENCE, local(open)] } : {}),
    admin: [SHARED_AUDIENCE, local(admin)],
  };
}

/** Starts the development provider for the running surfaces; undefined in production, where there is no sign-in. */
export async function startSignIn(context: StartContext): Promise<SignIn | undefined> {
  const { options, surfaces, secrets, data, env, stack, tell } = context;
  const { portBase } = options;
  if (!hasSignIn(env)) {
    tell('NODE_ENV is production: the development provider is off, and sign-in is not possible.');
    return undefined;
  }
  tell('Starting the development provider');
  const tools = surfaces.filter(({ mcp }) => mcp).map(({ number }) => `${local(portsOf(portBase, number).public)}/mcp`);
  const listeners = surfaces
    .filter(({ isConsole }) => isConsole !== true)
    .map((surface) => audienceOf(surface, portBase))
    .flatMap(({ api = [], admin }) => [...api, ...admin]);
  const provider = await startDevelopmentProvider({
    port: providerPort(portBase),
    audiences: [SHARED_AUDIENCE, ...new Set(listeners.filter((one) => one !== SHARED_AUDIENCE)), ...tools],
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
