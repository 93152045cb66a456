import { documentSigner, type DocumentSigner, type PublicJwk } from '@sealgate/envelope';
import { ADMIN_ROLES, parseAdminRules } from '@sealgate/identity';
import type { SurfaceChannels } from '@sealgate/ledger-embedded';
import { parseChannel } from '@sealgate/ledger-port';
import {
  booleanField,
  customField,
  integerField,
  ledgerFaults,
  ledgerFields,
  listenerFaults,
  listenerFields,
  loadConfig,
  publicUrlFields,
  storeFields,
  textField,
  type Config,
  type Environment,
} from '@sealgate/service-host';

const rate = { min: 1, max: 1_000_000 } as const;

const limitFields = {
  ratePerSecond: integerField({
    ...rate,
    name: 'RATE_PER_SECOND',
    description: 'Requests per second for each key.',
    default: 20,
  }),
  rateBurst: integerField({ ...rate, name: 'RATE_BURST', description: 'Burst for each key.', default: 100 }),
  gateRatePerSecond: integerField({
    ...rate,
    name: 'GATE_RATE_PER_SECOND',
    description: 'Gate requests per second for each key.',
    default: 100,
  }),
  gateRateBurst: integerField({
    ...rate,
    name: 'GATE_RATE_BURST',
    description: 'Burst of gate requests for each key.',
    default: 200,
  }),
};

const signingFields = {
  documentSigner: customField<DocumentSigner>({
    name: 'DOCUMENT_SIGNING_KEY',
    description: 'The Ed25519 key that signs assessor packs.',
    form: 'PKCS #8 PEM; line feeds may be written as `\\n`',
    isSecret: true,
    parse: (text) => documentSigner(text.replaceAll('\\n', '\n')),
  }),
  retiredKeys: customField<readonly PublicJwk[]>({
    name: 'DOCUMENT_RETIRED_KEYS',
    description: 'Public keys that signed earlier packs; they stay listed in `/.well-known/jwks.json`.',
    form: 'a JWK set as JSON',
    fallback: { value: [], shown: 'none' },
    parse: parseKeys,
  }),
};

const ROLES = ADMIN_ROLES.map((role) => `"${role}"`).join(' or ');

/** Every environment variable of the surface. The table in the README is generated from this. */
export const fields = {
  ...listenerFields,
  adminOidc: customField({
    ...listenerFields.adminOidc,
    description:
      'Claims of access tokens that grant roles on the admin listener: operators may do everything, viewers only read, reviewers decide cases, authors draft policies.',
    form: `a JSON list of \`{"claim", "value", "role": ${ROLES}, "issuer"?}\`; a claim is a name or a JSON pointer`,
    parse: (text) => parseAdminRules(text, ADMIN_ROLES),
  }),
  ...publicUrlFields,
  ...storeFields,
  ...ledgerFields,
  ledgerNetwork: textField({
    name: 'LEDGER_NETWORK',
    description: 'The network that LEDGER_CHANNEL must belong to.',
    default: undefined,
  }),
  ledgerChannel: customField({
    name: 'LEDGER_CHANNEL',
    description: 'The channel that receives seals and eligibility records.',
    form: '`<networkId>.<name>`',
    fallback: { value: 'gate.seals', shown: '`gate.seals`' },
    parse: (text) => {
      if (parseChannel(text) === undefined) throw new Error('must be <networkId>.<name>');
      return text;
    },
  }),
  ...signingFields,
  ...limitFields,
  gateDeadlineMs: integerField({
    name: 'GATE_DEADLINE_MS',
    description: 'Time budget of a check, from the last byte of the request to the first of the answer.',
    min: 50,
    max: 5000,
    default: 250,
  }),
  gateDatabasePoolSize: integerField({
    name: 'GATE_DATABASE_POOL_SIZE',
    description:
      'Maximum connections of this process to DATABASE_URL reserved for the gate, in addition to DATABASE_POOL_SIZE.',
    min: 2,
    max: 500,
    default: 4,
  }),
  caseTtlDays: integerField({
    name: 'CASE_TTL_DAYS',
    description: 'Days after which an undecided case expires.',
    min: 1,
    max: 3650,
    default: 90,
  }),
  decisionRetentionDays: integerField({
    name: 'DECISION_RETENTION_DAYS',
    description: 'Days for which logged gate decisions are kept.',
    min: 1,
    max: 3650,
    default: 365,
  }),
  healthRequiresKey: booleanField({
    name: 'HEALTH_REQUIRES_KEY',
    description: 'Whether `/v1/health` requires a key.',
    default: false,
  }),
};

export type GateConfig = Config<typeof fields>;

/** @throws ConfigError naming every fault at once. */
export function readConfig(env: Environment): GateConfig {
  return loadConfig(fields, env, {
    // Row versions are written to the embedded log whichever ledger takes the seals.
    check: (config) => [...listenerFaults(config), ...ledgerFaults(config, true), ...gateFaults(config)],
  });
}

/** For the migration job: the channels that the run-time role may use. @throws ConfigError */
export function ledgerChannels(env: Environment): SurfaceChannels {
  const { ledgerChannel } = fields;
  const config = loadConfig({ ledgerChannel }, env, { others: fields });
  return { kind: 'owned', names: [config.ledgerChannel] };
}

function gateFaults({ ledgerNetwork, ledgerChannel }: GateConfig): string[] {
  const isOfAnother = ledgerNetwork !== undefined && parseChannel(ledgerChannel)?.networkId !== ledgerNetwork;
  return isOfAnother ? ['LEDGER_CHANNEL: belongs to another network than LEDGER_NETWORK'] : [];
}

/** A JWK set (RFC 8037). Accepts Ed25519 keys only, since nobody could verify with any other. */
function parseKeys(text: string): readonly PublicJwk[] {
  const { keys } = JSON.parse(text) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('must have a member keys');
  return keys.map((key: Partial<PublicJwk>) => {
    const { kty, crv, x, kid } = key;
    if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || typeof kid !== 'string') {
      throw new Error('must contain Ed25519 keys, each with a kid');
    }
    return { kty, crv, x, kid, alg: 'EdDSA', use: 'sig' };
  });
}
