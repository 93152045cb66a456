import { checkPolicy } from '@sealgate/merkle';
import type { LogPolicy, NoteVerifier } from '@sealgate/merkle';

/** A pinned key whose checkpoints count only where the witnesses of a policy cosigned them. */
export interface WitnessedVerifier extends NoteVerifier {
  /** What a checkpoint that the pinned key signed lacks by the policy; undefined where nothing is. */
  lacks(note: string): string | undefined;
}

/** Adds what a policy asks of witnesses to a pinned key. The logs that the policy names are not looked at. */
export function witnessed(verifier: NoteVerifier, policy: LogPolicy): WitnessedVerifier {
  const lacks = (note: string) => checkPolicy(policy, note, verifier).problem;
  return {
    ...verifier,
    lacks,
    verify: (note) => (lacks(note) === undefined ? verifier.verify(note) : undefined),
  };
}

/** What witnesses have not said of a note that the key itself signed; undefined where none are asked for. */
export function lackOfWitnesses(verifier: NoteVerifier, note: string): string | undefined {
  return 'lacks' in verifier ? (verifier as WitnessedVerifier).lacks(note) : undefined;
}
