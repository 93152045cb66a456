import type { SurfaceChannels } from '@sealgate/ledger-embedded';
import type { OidcIssuer } from '@sealgate/identity';
import { isChannelName, isNetworkId } from '@sealgate/ledger-port';
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
import { MCP_PATH } from './routes/mcp.ts';

/** Every environment variable of the service. The table in the README is generated from this. */
export const fields = {
  ...listenerFields,
  ...publicUrlFields,
  ...storeFields,
  ...ledgerFields,
  ledgerNetwork: customField({
    name: 'LEDGER_NETWORK',
    description: 'Network of the channel that approved evidence is anchored in.',
    form: 'lower-case letters, digits and hyphens',
    fallback: { value: 'risk', shown: '`risk`' },
    parse: (text) => matching(text, isNetworkId),
  }),
  ledgerChannel: customField({
    name: 'LEDGER_CHANNEL',
    description: 'Name of that channel; nothing else may write to it.',
    form: 'lower-case letters, digits and hyphens',
    fallback: { value: 'evidence', shown: '`evidence`' },
    parse: (text) => matching(text, isChannelName),
  }),
  consoleUrl: customField<string | undefined>({
    name: 'CONSOLE_URL',
    description: 'URL of the console, where people sign in: links of invitations begin with it; default: PUBLIC_URL.',
    form: publicUrlFields.publicUrl.form,
    fallback: { value: undefined, shown: 'PUBLIC_URL' },
    parse: publicUrlFields.publicUrl.parse,
  }),
  ratePerSecond: integerField({
    name: 'RATE_PER_SECOND',
    description: 'Requests per second allowed for one key.',
    min: 1,
    max: 1_000_000,
    default: 20,
  }),
  rateBurst: integerField({
    name: 'RATE_BURST',
    description: 'Burst of requests allowed for one key.',
    min: 1,
    max: 1_000_000,
    default: 100,
  }),
  mcpPort: integerField({
    name: 'MCP_PORT',
    description: 'Extra port that serves the tools (MCP) only, on HOST; the public listener serves them as well.',
    min: 0,
    max: 65_535,
    default: undefined,
  }),
  mcpAllowedHosts: customField({
    name: 'MCP_ALLOWED_HOSTS',
    description: 'Host names (without port) under which MCP clients may call the service: set your own.',
    form: 'host names separated by commas',
    fallback: { value: ['localhost', '127.0.0.1', '[::1]'], shown: '`localhost,127.0.0.1,[::1]`' },
    parse: listOfNames,
  }),
  mcpAllowedOrigins: customField<readonly string[]>({
    name: 'MCP_ALLOWED_ORIGINS',
    description: 'Origins of web pages that may call the tools; a request without `Origin` is not checked.',
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

/**
 * Compared byte by byte with the header, so a form that browsers never send is refused here: it would match nothing.
 */
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

/** @throws ConfigError naming every fault. */
export function readConfig(env: Environment): RiskConfig {
  const config = loadConfig(fields, env, {
    check: (variables) => [...listenerFaults(variables), ...ledgerFaults(variables), ...riskFaults(variables)],
  });
  return Object.freeze({ ...config, oidcIssuers: config.oidcIssuers.map((issuer) => withMcp(issuer, config)) });
}

/** The URL of the tools, which is also the audience of their access tokens unless others are configured; see `riskFaults`. */
export const mcpResourceOf = ({ publicUrl = '' }: Pick<RiskConfig, 'publicUrl'>): string => `${publicUrl}${MCP_PATH}`;

const withMcp = (issuer: OidcIssuer, config: RiskConfig): OidcIssuer => ({
  ...issuer,
  audience: { mcp: [mcpResourceOf(config)], ...issuer.audience },
});

/** For the migration job: the channels that the run-time role may use. @throws ConfigError */
export function ledgerChannels(env: Environment): SurfaceChannels {
  const { ledgerNetwork, ledgerChannel } = fields;
  const config = loadConfig({ ledgerNetwork, ledgerChannel }, env, { others: fields });
  return { kind: 'owned', names: [`${config.ledgerNetwork}.${config.ledgerChannel}`] };
}

function riskFaults({ oidcIssuers, publicUrl }: RiskConfig): string[] {
  // The audience of access tokens for MCP is its URL, which the service cannot guess.
  return oidcIssuers.length > 0 && publicUrl === undefined ? ['PUBLIC_URL: is required where OIDC_ISSUERS is set'] : [];
}

/** The channel that evidence is anchored in, `<networkId>.<name>`. */
export const channelOfConfig = ({ ledgerNetwork, ledgerChannel }: RiskConfig): string =>
  `${ledgerNetwork}.${ledgerChannel}`;
