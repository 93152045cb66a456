import type { Jwks } from '@sealgate/envelope';
import type { LogPolicy, NoteVerifier } from '@sealgate/merkle';
import {
  UnreadableError,
  jointVerifier,
  parseJson,
  policyFrom,
  readKeySet,
  senderKey,
  verifierFrom,
  witnessed,
} from '@sealgate/verify/checks';
import * as texts from './file-texts.ts';

/** The trusted keys and policies, as typed. */
export interface Pins {
  /** C2SP verifier keys, one per line. */
  readonly logKeys: string;
  /** A C2SP tlog-policy: the required cosignatures of checkpoints, and the logs accepted for a tlog-proof. */
  readonly policy: string;
  /** A JWK set. */
  readonly jwks: string;
  /** A detached JWS; for an envelope, the header Evidence-Signature. */
  readonly signature: string;
  /** A trust file of a Fabric channel, which was dropped. */
  readonly trust: string;
  /** Public keys of senders (`whpk_`), one per line. */
  readonly senderKeys: string;
}

/** Nothing was judged: there is no key of a log, or of a sender, or no trust file of a Fabric channel, yet. */
export class NoKeyError extends UnreadableError {
  readonly lacks: 'log' | 'sender' | 'trust';

  constructor(lacks: NoKeyError['lacks'], what: string) {
    super(what);
    this.lacks = lacks;
  }
}

export const noPins: Pins = { logKeys: '', policy: '', jwks: '', signature: '', trust: '', senderKeys: '' };

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export function policyOf({ policy }: Pins): LogPolicy | undefined {
  return policy.trim() === '' ? undefined : policyFrom(policy, 'The policy');
}

/** Accepted checkpoints: signed by a pinned key, and cosigned according to the policy, if there is one. */
export function requiredVerifier(pins: Pins): NoteVerifier {
  const policy = policyOf(pins);
  return policy === undefined ? pinnedVerifier(pins) : witnessed(pinnedVerifier(pins), policy);
}

export function pinnedVerifier({ logKeys }: Pins): NoteVerifier {
  const lines = linesOf(logKeys);
  if (lines.length === 0) {
    throw new NoKeyError('log', texts.logKeyIsMissing);
  }
  return jointVerifier(
    lines.map((line, index) => verifierFrom(line, `Line ${index + 1} of the keys`)),
    'The list of keys',
  );
}

export function jwksOf({ jwks }: Pins): Jwks | undefined {
  if (jwks.trim() === '') return undefined;
  return readKeySet('The key set', parseJson(new TextEncoder().encode(jwks), 'The key set'));
}

export function signatureOf(pins: Pins): { readonly jws: string; readonly jwks: Jwks } | undefined {
  const jwks = jwksOf(pins);
  const jws = pins.signature.trim().replace(/^evidence-signature:\s*/i, '');
  return jwks !== undefined && jws !== '' ? { jws, jwks } : undefined;
}

export function senderKeysOf({ senderKeys }: Pins): NonNullable<ReturnType<typeof senderKey>>[] {
  const lines = linesOf(senderKeys);
  if (lines.length === 0) {
    throw new NoKeyError('sender', texts.senderKeyIsMissing);
  }
  return lines.map((line, index) => {
    const key = senderKey(line);
    if (key !== undefined) return key;
    throw new UnreadableError(texts.senderKeyFault(index + 1));
  });
}
