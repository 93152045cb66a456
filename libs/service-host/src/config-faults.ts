import type { AdminRule, OidcIssuer } from '@sealgate/identity';

/** The limits of one key are shared by at most this many. */
export const MOST_PROCESSES = 1000;

/** Faults of the listeners' variables that only show when they are seen together; for `check` of `loadConfig`. */
export function listenerFaults(config: {
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly oidcIssuers: readonly OidcIssuer[];
  readonly adminOidc: readonly AdminRule[];
  readonly replicas?: number;
  readonly workers?: number;
}): string[] {
  const { tlsCertFile, tlsKeyFile, oidcIssuers, adminOidc, replicas = 1, workers = 1 } = config;
  const isUnknown = ({ issuer }: AdminRule) =>
    issuer === undefined ? oidcIssuers.length === 0 : !oidcIssuers.some((known) => known.issuer === issuer);
  return [
    ...((tlsCertFile === undefined) === (tlsKeyFile === undefined)
      ? []
      : ['TLS_CERT_FILE, TLS_KEY_FILE: must be set together']),
    ...(replicas * workers > MOST_PROCESSES ? [`REPLICAS, WORKERS: are more than ${MOST_PROCESSES} processes`] : []),
    ...(adminOidc.some(isUnknown) ? ['ADMIN_OIDC: must name issuers that OIDC_ISSUERS holds'] : []),
  ];
}

/** As `listenerFaults`, of the ledger variables. @param hasLog whether the surface writes to an embedded log. */
export function ledgerFaults(
  config: {
    readonly ledgerIntegrator: boolean;
    readonly ledgerSigningKey: string | undefined;
    readonly ledgerDriver: 'embedded' | 'fabric';
    readonly fabricConfig: string | undefined;
    readonly checkpointDir: string | undefined;
  },
  hasLog = config.ledgerDriver === 'embedded',
): string[] {
  const { ledgerDriver, fabricConfig, ledgerIntegrator } = config;
  const wrong = fabricConfig === undefined ? 'is required where LEDGER_DRIVER is fabric' : 'needs LEDGER_DRIVER=fabric';
  const faults = (ledgerDriver === 'fabric') === (fabricConfig !== undefined) ? [] : [`FABRIC_CONFIG: ${wrong}`];
  if (!ledgerIntegrator) return faults;
  if (!hasLog) return [...faults, 'LEDGER_INTEGRATOR: only the embedded ledger is built here'];
  const needed = { LEDGER_SIGNING_KEY: config.ledgerSigningKey, CHECKPOINT_DIR: config.checkpointDir };
  const missing = Object.entries(needed).filter(([, value]) => value === undefined);
  return [...faults, ...missing.map(([name]) => `${name}: is required where LEDGER_INTEGRATOR is true`)];
}
