import { isLoopback } from '@sealgate/auth';
import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
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
  listText,
  loadConfig,
  operatorFields,
  publicUrlFields,
  storeFields,
  textField,
  type Config,
  type Environment,
} from '@sealgate/service-host';
import { ConfiguredKeys } from './api-keys.ts';
import type { Mappings } from './domain/mapping.ts';
import { MappingError, parseMappings } from './domain/parse-mappings.ts';
import { parseNetworks } from './data/receiver-address.ts';
import { parseMetricsAllow } from './metrics-access.ts';

const accessFields = {
  apiKeys: customField({
    name: 'API_KEY_HASHES',
    description: 'The API keys that are accepted in `X-Api-Key`. Keys of one family share jobs and Idempotency-Keys.',
    form: 'SHA-256 hashes in hex, each alone or as `family:hash`, separated by commas; keys have at least 32 characters; or `file:///path` of a file with them, reloaded at run time',
    isSecret: true,
    fallback: { value: ConfiguredKeys.of(() => ''), shown: 'none' },
    parse: (text) => ConfiguredKeys.of(() => listText(text)),
  }),
  allowUnauthenticated: booleanField({
    name: 'ALLOW_UNAUTHENTICATED',
    description: 'Allows starting without keys while the public listener is reachable from other machines.',
    default: false,
  }),
  metricsAllow: customField({
    name: 'METRICS_ALLOW',
    description: 'Socket addresses that may read `/metrics` on the public listener; forwarded requests may not.',
    form: 'addresses and subnets separated by commas',
    fallback: { value: parseMetricsAllow('127.0.0.0/8,::1'), shown: '`127.0.0.0/8,::1`' },
    parse: parseMetricsAllow,
  }),
  ratePerSecond: integerField({
    name: 'RATE_PER_SECOND',
    description: 'Requests per second for each key, or for each client address if there are no keys.',
    min: 1,
    max: 1_000_000,
    default: 100,
  }),
  rateBurst: integerField({
    name: 'RATE_BURST',
    description: 'Burst of requests, likewise.',
    min: 1,
    max: 1_000_000,
    default: 200,
  }),
  publicLog: customField({
    name: 'PUBLIC_LOG',
    description:
      'Channels whose log can be read without a key: checkpoints, tiles, and the entries with id, type, owner and time of every record. A mapping must name each of them.',
    form: '`<networkId>.<name>`, separated by commas',
    fallback: { value: new Set<string>(), shown: 'none' },
    parse: parsePublicLog,
  }),
  logRatePerSecond: integerField({
    name: 'LOG_RATE_PER_SECOND',
    description: 'Requests for checkpoints, tiles and entries per second, for each key or client address.',
    min: 1,
    max: 1_000_000,
    default: 1000,
  }),
  logRateBurst: integerField({
    name: 'LOG_RATE_BURST',
    description: 'Burst of these requests, likewise.',
    min: 1,
    max: 1_000_000,
    default: 2000,
  }),
};

const subscriptionFields = {
  subscriptionAllowedCidrs: customField({
    name: 'SUBSCRIPTION_ALLOWED_CIDRS',
    description:
      'Networks that are not public and in which receivers of events may be. All other private, loopback, link-local and metadata addresses are refused.',
    form: 'networks (`10.1.0.0/16`, `fd00::/8`) separated by commas',
    fallback: { value: new BlockList(), shown: 'none' },
    parse: parseNetworks,
  }),
};

function parsePublicLog(text: string): ReadonlySet<string> {
  const channels = text.split(',').map((name) => name.trim());
  const wrong = channels.find((name) => parseChannel(name) === undefined);
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not <networkId>.<name>.`);
  return new Set(channels);
}

const assetFields = {
  mappingFile: textField({
    name: 'MAPPING_FILE',
    description: 'The file that maps asset types to chaincodes; see above.',
  }),
  ledgerNetwork: textField({
    name: 'LEDGER_NETWORK',
    description: 'The network that LEDGER_CHANNEL must belong to.',
    default: undefined,
  }),
  ledgerChannel: textField({
    name: 'LEDGER_CHANNEL',
    description: 'The default channel of mappings, as `<networkId>.<name>`.',
    default: undefined,
  }),
  bodyMaxBytes: integerField({
    name: 'BODY_MAX_BYTES',
    description: 'Maximum request body, after content decoding.',
    min: 1024,
    max: 8_388_608,
    default: 8_388_608,
  }),
  answerWithinMs: integerField({
    name: 'ANSWER_WITHIN_MS',
    description: 'Time limit for starting batches of one request; the rest is reported as not attempted.',
    min: 1000,
    max: 60_000,
    default: 15_000,
  }),
};

/** All variables of the peer; the table in the README is generated from this. */
export const fields = {
  ...listenerFields,
  ...publicUrlFields,
  ...storeFields,
  ...operatorFields,
  ...ledgerFields,
  ...accessFields,
  ...assetFields,
  ...subscriptionFields,
};

type PeerVariables = Config<typeof fields>;

export type PeerConfig = PeerVariables & { readonly mappings: Mappings };

/** @throws ConfigError listing all faults, including those of the mapping file. */
export function readConfig(env: Environment): PeerConfig {
  let mappings: Mappings | undefined;
  const config = loadConfig(fields, env, {
    check: (variables) => {
      const read = readMappings(variables);
      mappings = read.mappings;
      const unmapped = [...variables.publicLog].filter(
        (name) => read.mappings?.targets.every(({ channel }) => channel !== name) === true,
      );
      return [
        ...listenerFaults(variables),
        ...ledgerFaults(variables),
        ...peerFaults(variables),
        ...read.faults,
        ...unmapped.map((name) => `PUBLIC_LOG: no mapping names the channel ${name}`),
      ];
    },
  });
  if (mappings === undefined) throw new Error('A valid configuration has mappings.');
  return Object.freeze({ ...config, mappings });
}

/** The channels that the migration job grants to the runtime role. @throws ConfigError */
export function ledgerChannels(env: Environment): SurfaceChannels {
  const { mappingFile, ledgerDriver, ledgerChannel } = fields;
  let mappings: Mappings | undefined;
  loadConfig({ mappingFile, ledgerDriver, ledgerChannel }, env, {
    others: fields,
    check: (variables) => {
      const read = readMappings(variables);
      mappings = read.mappings;
      return read.faults;
    },
  });
  return { kind: 'shared', names: [...new Set(mappings?.targets.map(({ channel }) => channel))] };
}

function readMappings({
  mappingFile,
  ledgerDriver,
  ledgerChannel,
}: Pick<PeerVariables, 'mappingFile' | 'ledgerDriver' | 'ledgerChannel'>): {
  mappings?: Mappings;
  faults: string[];
} {
  let text: string;
  try {
    text = readFileSync(mappingFile, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    return { faults: [`MAPPING_FILE: cannot be read${code}`] };
  }
  try {
    return { mappings: parseMappings(text, { driver: ledgerDriver, defaultChannel: ledgerChannel }), faults: [] };
  } catch (error) {
    if (error instanceof MappingError) return { faults: error.faults.map((fault) => `MAPPING_FILE: ${fault}`) };
    throw error;
  }
}

function peerFaults(config: PeerVariables): string[] {
  const { apiKeys, allowUnauthenticated, host } = config;
  const { ledgerNetwork, ledgerChannel } = config;
  const channel = ledgerChannel === undefined ? undefined : parseChannel(ledgerChannel);
  const faults: [boolean, string][] = [
    [config.ledgerDriver === 'fabric' && config.publicLog.size > 0, 'PUBLIC_LOG: needs LEDGER_DRIVER=embedded'],
    [
      apiKeys.size === 0 && !allowUnauthenticated && !isLoopback(host),
      'API_KEY_HASHES: without keys anybody who reaches HOST may write; set keys, or ALLOW_UNAUTHENTICATED=true',
    ],
    [ledgerChannel !== undefined && channel === undefined, 'LEDGER_CHANNEL: must be <networkId>.<name>'],
    [
      channel !== undefined && ledgerNetwork !== undefined && channel.networkId !== ledgerNetwork,
      'LEDGER_CHANNEL: is of another network than LEDGER_NETWORK',
    ],
  ];
  return faults.flatMap(([isFault, text]) => (isFault ? [text] : []));
}
