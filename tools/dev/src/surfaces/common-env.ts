import { ledgerOrigin, tokenHash } from '../start/secrets.ts';
import type { SurfaceContext } from '../start/surface.ts';

/** Of the surfaces whose admin listener has the ledger. */
export const operatorEnv = ({ operatorUrl, archive }: SurfaceContext): Record<string, string> => ({
  LEDGER_ARCHIVE_DIR: archive,
  ...(operatorUrl === undefined ? {} : { ADMIN_DATABASE_URL: operatorUrl }),
});

/** The variables that every surface has; where it has others, they stand beside these. */
export function commonEnv(
  name: string,
  { ports, secrets, databaseUrl, redisUrl, checkpoints, integrates }: SurfaceContext,
): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    PORT: String(ports.public),
    OPS_HOST: '127.0.0.1',
    OPS_PORT: String(ports.ops),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(ports.admin),
    ADMIN_TOKEN_HASHES: tokenHash(secrets.adminToken),
    SERVER_SECRETS: `s1:${secrets.secret(`${name}.serverSecret`)}`,
    DATABASE_URL: databaseUrl,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    LEDGER_DRIVER: 'embedded',
    LEDGER_ORIGIN: ledgerOrigin,
    LEDGER_INTEGRATOR: String(integrates),
    LEDGER_VERIFIER_KEYS: secrets.ledger.verifierKey,
    ...(integrates ? { LEDGER_SIGNING_KEY: secrets.ledger.signingKey, CHECKPOINT_DIR: checkpoints } : {}),
  };
}
