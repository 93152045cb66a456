import { Bytes, canonical, sha256, type JsonValue } from '@sealgate/json';

/** An unverified eligibility record. */
export type EligibilityDocument = { readonly [member: string]: JsonValue };

/** Seals an eligibility record: `evidence_hash` and `signature` cover the canonical form of the other members. */
export function sealEligibility<Members extends { readonly [member: string]: JsonValue }>(
  members: Members,
  sign: (bytes: Uint8Array) => string,
): Members & { readonly evidence_hash: string; readonly signature: string } {
  const bytes = Bytes.from(canonical(members));
  return { ...members, evidence_hash: sha256(bytes).toString('hex'), signature: sign(bytes) };
}

/** The hashed and signed bytes of an eligibility record. */
export function eligibilityBytes(document: EligibilityDocument): Bytes {
  const { evidence_hash: _hash, signature: _signature, ...rest } = document;
  return Bytes.from(canonical(rest));
}

export function isEligibilityDocument(value: JsonValue): value is { [member: string]: JsonValue } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return ['subject_ref', 'record_version', 'evidence_hash'].every((member) => Object.hasOwn(value, member));
}
