import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type LogPolicy, parsePolicy } from '@sealgate/merkle';
import { booleanField, choiceField, customField, integerField, textField } from './load-config.ts';

/** Settings of the witnesses that cosign an integrator's checkpoints. */
export const witnessFields = {
  ledgerWitnesses: customField<LogPolicy | undefined>({
    name: 'LEDGER_WITNESS_POLICY',
    description:
      'Witnesses that cosign checkpoints, and the quorum: the integrator sends each checkpoint to the witnesses, and ' +
      'logs are served with cosigned checkpoints.',
    form: 'a policy (C2SP tlog-policy) whose witnesses have URLs, `https` or on loopback `http`; line feeds may be written as `\\n`; or `file:///path` of a file with it',
    fallback: { value: undefined, shown: 'none' },
    parse: parseWitnesses,
  }),
  ledgerChannelWitnesses: customField<ReadonlyMap<string, LogPolicy>>({
    name: 'LEDGER_CHANNEL_WITNESS_POLICIES',
    description:
      'Policies of single channels, in place of LEDGER_WITNESS_POLICY: other witnesses or another quorum, or none for a ' +
      'channel (`quorum none`).',
    form: 'a JSON object of channels, `<networkId>.<name>`, each with a policy as in LEDGER_WITNESS_POLICY',
    fallback: { value: new Map(), shown: 'none' },
    parse: parseChannelWitnesses,
  }),
  ledgerWitnessWaitMs: integerField({
    name: 'LEDGER_WITNESS_WAIT_MS',
    description: "How long a checkpoint waits for its policy's quorum of witnesses before it is served with fewer.",
    min: 100,
    max: 600_000,
    default: 5000,
  }),
};

const CHANNEL = /^[a-z0-9-]+\.[a-z0-9-]{1,40}$/;

/** @throws Error that names the channel whose policy is refused. */
function parseChannelWitnesses(text: string): ReadonlyMap<string, LogPolicy> {
  const policies: unknown = parseJson(text);
  if (typeof policies !== 'object' || policies === null || Array.isArray(policies))
    throw new Error('must be an object');
  const parsed = Object.entries(policies).map(([channel, policy]): [string, LogPolicy] => {
    if (!CHANNEL.test(channel)) throw new Error(`must name channels as <networkId>.<name>, not ${channel}`);
    if (typeof policy !== 'string') throw new Error(`must give ${channel} a policy as a text`);
    try {
      return [channel, parsePolicyWithUrls(policy)];
    } catch (cause) {
      throw new Error(`for ${channel}: ${cause instanceof Error ? cause.message : ''}`, { cause });
    }
  });
  return new Map(parsed);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error('must be JSON', { cause });
  }
}

/** Parses the policy of an integrator, which needs witnesses with URLs. */
function parseWitnesses(text: string): LogPolicy {
  const policy = parsePolicyWithUrls(text);
  if (policy.witnesses.length === 0) throw new Error('must name a witness');
  return policy;
}

function parsePolicyWithUrls(text: string): LogPolicy {
  const policy = parsePolicy(text.startsWith('file:') ? readPolicy(text) : text.replaceAll('\\n', '\n'));
  for (const { name, url = '' } of policy.witnesses) {
    if (!isWitnessUrl(url)) throw new Error(`must give the witness ${name} a URL: https, or http on loopback`);
  }
  const trimmed = policy.witnesses.map((witness) => ({ ...witness, url: witness.url?.replace(/\/$/, '') ?? '' }));
  return { ...policy, witnesses: trimmed };
}

function readPolicy(url: string): string {
  try {
    return readFileSync(fileURLToPath(url), 'utf8');
  } catch (cause) {
    throw new Error('must name a file that can be read', { cause });
  }
}

function isWitnessUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (username !== '' || password !== '' || search !== '' || hash !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname));
}

/** Settings of the ledger. */
export const ledgerFields = {
  ledgerDriver: choiceField({
    name: 'LEDGER_DRIVER',
    description: 'Ledger to write to.',
    choices: ['embedded', 'fabric'],
    default: 'embedded',
  }),
  fabricConfig: textField({
    name: 'FABRIC_CONFIG',
    description: 'Connection file of the Fabric network; required if LEDGER_DRIVER is fabric.',
    default: undefined,
  }),
  ledgerOrigin: customField({
    name: 'LEDGER_ORIGIN',
    description: 'Name of the ledger in checkpoints; the origin of a channel is this name, a slash and the channel.',
    form: 'a host name, optionally with a path',
    parse: (text) => {
      // Characters that a C2SP key name forbids (spaces and pluses), and a trailing separator.
      if (!/^[\x21-\x2a\x2c-\x7e]{1,200}$/.test(text) || text.endsWith('/')) throw new Error('must be a name');
      return text;
    },
  }),
  ledgerIntegrator: booleanField({
    name: 'LEDGER_INTEGRATOR',
    description: 'Whether this process builds the tree and signs checkpoints.',
    default: false,
  }),
  ledgerSigningKey: customField<string | undefined>({
    name: 'LEDGER_SIGNING_KEY',
    description: 'Key that signs checkpoints, for the integrator only. With several, each signs.',
    form: '`PRIVATE+KEY+name+hash+key` (C2SP signed notes), separated by commas',
    isSecret: true,
    fallback: { value: undefined, shown: 'none' },
    parse: (text) => {
      if (!text.startsWith('PRIVATE+KEY+')) throw new Error('must begin with PRIVATE+KEY+');
      return text;
    },
  }),
  ledgerVerifierKeys: customField<readonly string[]>({
    name: 'LEDGER_VERIFIER_KEYS',
    description:
      'Keys that verify checkpoints, retired ones too, besides that of LEDGER_SIGNING_KEY: a checkpoint signed by none ' +
      'of them is neither served nor used in a proof. Without any, checkpoints are served unverified from the database. ' +
      'The ledger peer lists them in `/.well-known/jwks.json`, so it needs them if it does not sign.',
    form: '`name+hash+key` (C2SP signed notes), separated by commas',
    fallback: { value: [], shown: 'none' },
    parse: (text) => text.split(',').map((key) => key.trim()),
  }),
  checkpointDir: textField({
    name: 'CHECKPOINT_DIR',
    description: 'Folder outside the database that also stores every checkpoint.',
    default: undefined,
  }),
  ...witnessFields,
};

/** Like `listenerFaults`, for the ledger variables. @param hasLog whether the surface writes to an embedded log. */
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
  const wrong = fabricConfig === undefined ? 'is required if LEDGER_DRIVER is fabric' : 'needs LEDGER_DRIVER=fabric';
  const faults = (ledgerDriver === 'fabric') === (fabricConfig !== undefined) ? [] : [`FABRIC_CONFIG: ${wrong}`];
  if (!ledgerIntegrator) return faults;
  if (!hasLog) return [...faults, 'LEDGER_INTEGRATOR: only the embedded ledger has an integrator'];
  const needed = { LEDGER_SIGNING_KEY: config.ledgerSigningKey, CHECKPOINT_DIR: config.checkpointDir };
  const missing = Object.entries(needed).filter(([, value]) => value === undefined);
  return [...faults, ...missing.map(([name]) => `${name}: is required if LEDGER_INTEGRATOR is true`)];
}
