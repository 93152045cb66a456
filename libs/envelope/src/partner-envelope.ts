import { Bytes, canonical, canonicalHash, sha256, type JsonValue } from '@sealgate/json';

/** The value of `contractVersion` in every partner envelope. */
export const PARTNER_CONTRACT = 'svc.partner.v1';

/** How every envelope begins; all of it is ASCII. */
const HEAD = `{"contractVersion":"${PARTNER_CONTRACT}",`;

/** What an envelope is made of. Items are canonical JSON texts (RFC 8785), as they were stored. */
export interface PartnerEnvelopeParts {
  readonly orgId: string;
  /** RFC 3339, UTC, three fraction digits. */
  readonly generatedAt: string;
  readonly snapshotId?: string | undefined;
  readonly content:
    | { readonly item: string }
    | {
        readonly items: readonly string[];
        readonly pagination: { readonly limit: number; readonly count: number; readonly nextCursor: string | null };
      };
}

export interface SealedEnvelope {
  /** The envelope as it is sent: the UTF-8 of canonical JSON with `evidence_hash`. */
  readonly bytes: Bytes;
  /** The bytes that were hashed, and that are to be signed: the canonical envelope without `evidence_hash`. */
  readonly hashedBytes: Bytes;
  /** 64 lower hex digits. */
  readonly evidenceHash: string;
}

/**
 * Puts canonical items into a canonical envelope by joining texts: nothing of an item is parsed or written again. Members
 * stand in the order of RFC 8785, which for these names is that of the alphabet.
 */
export function sealPartnerEnvelope({ orgId, generatedAt, snapshotId, content }: PartnerEnvelopeParts): SealedEnvelope {
  const members = [
    `"generatedAt":${JSON.stringify(generatedAt)}`,
    'item' in content ? `"item":${content.item}` : `"items":[${content.items.join(',')}]`,
    `"orgId":${canonical(orgId)}`,
    ...('item' in content ? [] : [`"pagination":${canonical({ ...content.pagination })}`]),
    ...(snapshotId === undefined ? [] : [`"snapshotId":${canonical(snapshotId)}`]),
    '"verified_no_npi":true}',
  ].join(',');
  const hashedBytes = Bytes.from(HEAD + members);
  const evidenceHash = sha256(hashedBytes).toString('hex');
  // The members are encoded once: what is sent shares their bytes with what was hashed.
  const start = Bytes.from(`${HEAD}"evidence_hash":"${evidenceHash}",`);
  return { bytes: Bytes.concat([start, hashedBytes.subarray(HEAD.length)]), hashedBytes, evidenceHash };
}

/** The bytes that the hash and the signature of an envelope are over: its canonical form without `evidence_hash`. */
export function hashedBytesOf(envelope: PartnerEnvelope): Bytes {
  return Bytes.from(canonical(withoutHash(envelope)));
}

/** Whether `evidence_hash` is the hash of the rest. It says that nothing was changed since, not who made it. */
export function hasTrueHash(envelope: PartnerEnvelope): boolean {
  return envelope['evidence_hash'] === canonicalHash(withoutHash(envelope));
}

/** An object that says it is a partner envelope; what else it says has to be looked at. */
export type PartnerEnvelope = { readonly [member: string]: JsonValue };

export function isPartnerEnvelope(value: JsonValue): value is { [member: string]: JsonValue } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return value['contractVersion'] === PARTNER_CONTRACT;
}

function withoutHash(envelope: PartnerEnvelope): { [member: string]: JsonValue } {
  const { evidence_hash: _hash, ...rest } = envelope;
  return rest;
}
