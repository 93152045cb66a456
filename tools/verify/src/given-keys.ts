import type { Jwks, PublicJwk } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { anyOf, checkPolicy, type LogPolicy, noteVerifier, type NoteVerifier, parsePolicy } from '@sealgate/merkle';
import { isObject, listAt, rootObject, UnreadableError } from './shape.ts';

/** The verifier of one C2SP verifier key. @throws UnreadableError with the source of the text. */
export function verifierFrom(text: string, where: string): NoteVerifier {
  try {
    return noteVerifier(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnreadableError(`${where} holds no verifier key: ${why}`);
  }
}

/** A C2SP tlog-policy. @throws UnreadableError with the source of the text, and the line. */
export function policyFrom(text: string, where: string): LogPolicy {
  try {
    return parsePolicy(text);
  } catch (error) {
    throw new UnreadableError(`${where}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Trusts signatures by any of these keys. @throws UnreadableError if there is none, or they are of different logs. */
export function jointVerifier(verifiers: readonly NoteVerifier[], where: string): NoteVerifier {
  const verifier = anyOf(verifiers);
  if (verifier === undefined) throw new UnreadableError(`${where} is empty.`);
  if (verifier.keys.some(({ name }) => name !== verifier.name))
    throw new UnreadableError('The keys are not of one log: their names differ.');
  return verifier;
}

/** A pinned key whose checkpoints also need cosignatures of the witnesses of a policy. */
interface WitnessedVerifier extends NoteVerifier {
  /** What a checkpoint signed by the pinned key lacks by the policy; undefined if nothing. */
  lacks(note: string): string | undefined;
}

/** Adds the witness requirements of a policy to a pinned key. The logs in the policy are ignored. */
export function witnessed(verifier: NoteVerifier, policy: LogPolicy): WitnessedVerifier {
  const lacks = (note: string) => checkPolicy(policy, note, verifier).problem;
  return {
    ...verifier,
    lacks,
    verify: (note) => (lacks(note) === undefined ? verifier.verify(note) : undefined),
  };
}

/** What a note signed by the key lacks of witnesses; undefined if none are required. */
export function lackOfWitnesses(verifier: NoteVerifier, note: string): string | undefined {
  return 'lacks' in verifier ? (verifier as WitnessedVerifier).lacks(note) : undefined;
}

/**
 * The Ed25519 keys of a JWK set (RFC 7517); other keys are dropped, because we sign nothing with them. @throws
 * UnreadableError if it is not a key set.
 */
export function readKeySet(name: string, value: JsonValue): Jwks {
  return { keys: listAt(rootObject(name, value), 'keys').flatMap(readKey) };
}

function readKey(value: JsonValue): PublicJwk[] {
  if (!isObject(value)) return [];
  const { kty, crv, x, kid } = value;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || typeof kid !== 'string') return [];
  return [{ kty, crv, x, kid, alg: 'EdDSA', use: 'sig' }];
}
