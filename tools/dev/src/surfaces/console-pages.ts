import { CONSOLE_CLIENT_SECRET } from '../provider/development-provider.ts';
import { CONSOLE_CLIENT } from '../provider/provider-configuration.ts';
import { CONSOLE_NUMBER, type RunningListeners, type Surface, type SurfaceContext } from '../start/surface.ts';
import { bundled } from './bundled.ts';

/** The console: configured with the running surfaces, stateless. */
export const consolePages: Surface = {
  ...bundled('console'),
  number: CONSOLE_NUMBER,
  isConsole: true,
  mcp: false,
  canIntegrate: false,
  env,
  demo: () => Promise.resolve({ keys: {} }),
  examples: () => [],
};

function env({ ports, secrets, redisUrl, signIn, running }: SurfaceContext): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    PORT: String(ports.public),
    OPS_HOST: '127.0.0.1',
    OPS_PORT: String(ports.ops),
    PUBLIC_URL: `http://127.0.0.1:${ports.public}`,
    SERVER_SECRETS: `s1:${secrets.secret('console.serverSecret')}`,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    OIDC_ISSUER: signIn?.issuer ?? '',
    OIDC_CLIENT_ID: CONSOLE_CLIENT,
    OIDC_CLIENT_SECRET: secrets.secret(CONSOLE_CLIENT_SECRET),
    CONSOLE_SURFACES: JSON.stringify(
      running.map(({ name, url, adminUrl, opsUrl }) => ({ id: name, apiUrl: url, adminUrl, opsUrl })),
    ),
    OIDC_AUDIENCES: JSON.stringify(running.flatMap(audiencesOf)),
  };
}

/** The console sends no access tokens to public listeners that do not accept them. */
const audiencesOf = ({ name, url, adminUrl, mcp }: RunningListeners) => [
  ...(mcp ? [{ surface: name, listener: 'api', resource: url }] : []),
  { surface: name, listener: 'admin', resource: adminUrl },
];
