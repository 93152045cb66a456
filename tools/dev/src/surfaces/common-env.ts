import { ADMIN_GROUPS, CASE_GROUPS } from '../provider/provider-configuration.ts';
import { ledgerOrigin, tokenHash } from '../start/secrets.ts';
import type { SurfaceContext } from '../start/surface.ts';

/** For surfaces with the ledger on their admin listener. */
export const operatorEnv = ({ operatorUrl, archive }: SurfaceContext): Record<string, string> => ({
  LEDGER_ARCHIVE_DIR: archive,
  ...(operatorUrl === undefined ? {} : { ADMIN_DATABASE_URL: operatorUrl }),
});

/** Accepted issuers of access tokens, and the roles of their groups on the admin listener. */
const signInEnv = (name: string, { signIn, audience }: SurfaceContext): Record<string, string> =>
  signIn === undefined
    ? {}
    : {
        OIDC_ISSUERS: JSON.stringify([{ issuer: signIn.issuer, audience }]),
        ADMIN_OIDC: JSON.stringify(
          Object.entries(name === 'case-gate' ? { ...ADMIN_GROUPS, ...CASE_GROUPS } : ADMIN_GROUPS).map(
            ([role, value]) => ({ claim: 'groups', value, role }),
          ),
        ),
      };

/** For surfaces with their address in their documents. */
export const publicUrlEnv = ({ ports }: SurfaceContext): Record<string, string> => ({
  PUBLIC_URL: `http://127.0.0.1:${ports.public}`,
});

/** The variables common to all surfaces. */
export function commonEnv(name: string, context: SurfaceContext): Record<string, string> {
  const { ports, secrets, databaseUrl, redisUrl, checkpoints, integrates } = context;
  return {
    ...signInEnv(name, context),
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
