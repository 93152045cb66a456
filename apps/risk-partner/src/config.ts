import type { SurfaceChannels } from '@sealgate/ledger-embedded';
import { channelOf, isChannelName, isNetworkId } from '@sealgate/ledger-port';
import {
  customField,
  integerField,
  ledgerFaults,
  ledgerFields,
  listenerFaults,
  listenerFields,
  loadConfig,
  publicUrlFields,
  storeFields,
  type Config,
  type Environment,
} from '@sealgate/service-host';

/** Every variable of the service. The table in the README is made from this. */
export const fields = {
  ...listenerFields,
  ...publicUrlFields,
  ...storeFields,
  ...ledgerFields,
  ledgerNetwork: customField({
    name: 'LEDGER_NETWORK',
    description: 'The network of the channel in which approved evidence is anchored.',
    form: 'lower-case letters, digits and hyphens',
    fallback: { value: 'risk', shown: '`risk`' },
    parse: (text) => matching(text, isNetworkId),
  }),
  ledgerChannel: customField({
    name: 'LEDGER_CHANNEL',
    description: 'The name of that channel; nothing else should write to it.',
    form: 'lower-case letters, digits and hyphens',
    fallback: { value: 'evidence', shown: '`evidence`' },
    parse: (text) => matching(text, isChannelName),
  }),
  ratePerSecond: integerField({
    name: 'RATE_PER_SECOND',
    description: 'Requests of one key each second.',
    min: 1,
    max: 1_000_000,
    default: 20,
  }),
  rateBurst: integerField({
    name: 'RATE_BURST',
    description: 'Requests of one key at once.',
    min: 1,
    max: 1_000_000,
    default: 100,
  }),
  mcpPort: integerField({
    name: 'MCP_PORT',
    description:
      'A port of its own for the tool protocol, at the address of the public listener; it is on that one as well.',
    min: 0,
    max: 65_535,
    default: undefined,
  }),
  mcpAllowedHosts: customField({
    name: 'MCP_ALLOWED_HOSTS',
    description: 'Names by which tool clients may address the service (Host, without port): set it to your own.',
    form: 'host names separated by commas',
    fallback: { value: ['localhost', '127.0.0.1', '[::1]'], shown: '`localhost,127.0.0.1,[::1]`' },
    parse: listOfNames,
  }),
  mcpAllowedOrigins: customField<readonly string[]>({
    name: 'MCP_ALLOWED_ORIGINS',
    description: 'Web pages from which tool clients may come (Origin); a request without one is no web page.',
    form: 'origins separated by commas',
    fallback: { value: [], shown: 'none' },
    parse: listOfOrigins,
  }),
};

function matching(text: string, fits: (text: string) => boolean): string {
  if (!fits(text)) throw new Error('must be lower-case letters, digits and hyphens, and not too long');
  return text;
}

function listOfNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  if (names.includes('')) throw new Error('must be names separated by commas');
  return names;
}

/** Compared with what browsers send, letter by letter: what they never send would silently let nobody in. */
function listOfOrigins(text: string): readonly string[] {
  const origins = listOfNames(text);
  const isOrigin = (origin: string) =>
    /^https?:/.test(origin)
      ? URL.canParse(origin) && new URL(origin).origin === origin
      : /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+$/.test(origin);
  if (!origins.every(isOrigin)) throw new Error('must be origins (https://host, with a port unless it is the default)');
  return origins;
}

export type RiskConfig = Config<typeof fields>;

/** @throws ConfigError naming every fault at once. */
export function readConfig(env: Environment): RiskConfig {
  return loadConfig(fields, env, {
    check: (config) => [...listenerFaults(config), ...ledgerFaults(config), ...riskFaults(config)],
  });
}

/** For the migration job: which channels the role of run time is for. @throws ConfigError */
export function ledgerChannels(env: Environment): SurfaceChannels {
  const { ledgerNetwork, ledgerChannel } = fields;
  const config = loadConfig({ ledgerNetwork, ledgerChannel }, env, { others: fields });
  return { kind: 'owned', names: [channelOf(config.ledgerNetwork, config.ledgerChannel)] };
}

function riskFaults({ oidcIssuers, publicUrl }: RiskConfig): string[] {
  // Access tokens for MCP have its URL as their audience, which the service cannot guess.
  return oidcIssuers.length > 0 && publicUrl === undefined ? ['PUBLIC_URL: is required where OIDC_ISSUERS is set'] : [];
}

/** The channel in which evidence is anchored, `<networkId>.<name>`. */
export const channelOfConfig = ({ ledgerNetwork, ledgerChannel }: RiskConfig): string =>
  channelOf(ledgerNetwork, ledgerChannel);
