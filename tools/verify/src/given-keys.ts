import { anyOf, noteVerifier, parsePolicy } from '@sealgate/merkle';
import type { LogPolicy, NoteVerifier } from '@sealgate/merkle';
import { UnreadableError } from './unreadable-error.ts';

/** The verifier of one C2SP verifier key. Throws UnreadableError, which says where the text stood. */
export function verifierFrom(text: string, where: string): NoteVerifier {
  try {
    return noteVerifier(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnreadableError(`${where} holds no verifier key: ${why}`);
  }
}

/** A C2SP tlog-policy. Throws UnreadableError, which says where the text stood, and the line. */
export function policyFrom(text: string, where: string): LogPolicy {
  try {
    return parsePolicy(text);
  } catch (error) {
    throw new UnreadableError(`${where}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Trusts what any of these keys signed. Throws UnreadableError where there is none, or they are of different logs. */
export function jointVerifier(verifiers: readonly NoteVerifier[], where: string): NoteVerifier {
  const verifier = anyOf(verifiers);
  if (verifier === undefined) throw new UnreadableError(`${where} is empty.`);
  if (verifier.keys.some(({ name }) => name !== verifier.name))
    throw new UnreadableError('The keys are not of one log: their names differ.');
  return verifier;
}
