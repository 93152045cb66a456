import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parsePolicy, type LogPolicy } from '@sealgate/merkle';
import { customField, integerField } from './config-field.ts';

/** Who cosigns the checkpoints of an integrator. */
export const witnessFields = {
  ledgerWitnesses: customField<LogPolicy | undefined>({
    name: 'LEDGER_WITNESS_POLICY',
    description:
      'Who cosigns checkpoints, and how many of them have to: the integrator sends each checkpoint to the witnesses, and ' +
      'logs are shown by checkpoints with their cosignatures.',
    form: 'a policy (C2SP tlog-policy) whose witnesses have URLs, `https` or on loopback `http`; line feeds may be written as `\\n`; or `file:///path` of a file that holds it',
    fallback: { value: undefined, shown: 'none' },
    parse: parseWitnesses,
  }),
  ledgerWitnessWaitMs: integerField({
    name: 'LEDGER_WITNESS_WAIT_MS',
    description: 'How long a checkpoint waits for the quorum of LEDGER_WITNESS_POLICY before it is shown with fewer.',
    min: 100,
    max: 600_000,
    default: 5000,
  }),
};

/** The policy of an integrator: it has somebody to ask. */
function parseWitnesses(text: string): LogPolicy {
  const policy = parsePolicy(text.startsWith('file:') ? readPolicy(text) : text.replaceAll('\\n', '\n'));
  if (policy.witnesses.length === 0) throw new Error('must name a witness');
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
