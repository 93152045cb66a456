import { join } from 'node:path';
import type { Surface } from './surface.ts';

/** The row of a surface that is only there for tests; `env` comes on top of its addresses. */
export function stubSurface(number: number, env: Readonly<Record<string, string>> = {}): Surface {
  return {
    name: `stub-${number}`,
    number,
    mcp: false,
    canIntegrate: true,
    programs: () => ({
      main: join(import.meta.dirname, 'stub-surface.fixture.mjs'),
      migrate: join(import.meta.dirname, 'stub-migrate.fixture.mjs'),
    }),
    env: ({ ports, databaseUrl, integrates }) => ({
      PORT: String(ports.public),
      OPS_PORT: String(ports.ops),
      ADMIN_PORT: String(ports.admin),
      DATABASE_URL: databaseUrl,
      INTEGRATES: String(integrates),
      ...env,
    }),
    demo: async () => ({ keys: { [`key-${number}`]: 'secret' } }),
    examples: ({ url }) => [{ what: 'Ask it', line: `curl -sS ${url}` }],
  };
}
