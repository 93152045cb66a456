import { Bytes, canonical, canonicalHash, sha256, type JsonValue } from '@sealgate/json';

/** The value of `contractVersion` in every partner envelope. */
const PARTNER_CONTRACT = 'svc.partner.v1';

/** The start of every envelope; ASCII only. */
const HEAD = `{"contractVersion":"${PARTNER_CONTRACT}",`;

/** The parts of an envelope. Items are canonical JSON texts (RFC 8785) as stored. */
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

interface SealedEnvelope {
  /** The envelope to send: canonical JSON with `evidence_hash`, as UTF-8. */
  readonly bytes: Bytes;
  /** The hashed bytes, which are also signed: the canonical envelope without `evidence_hash`. */
  readonly hashedBytes: Bytes;
  /** 64 lower-case hex digits. */
  readonly evidenceHash: string;
}

/**
 * Builds a canonical envelope by concatenating canonical items, without parsing or re-encoding them. Members are in RFC
 * 8785 order, which is alphabetical for these names.
 */
export function sealPartnerEnvelope({ orgId, generatedAt, snapshotId, content }: PartnerEnvelopeParts): SealedEnvelope {
  // One join, so that the items are copied once.
  const text = [
    `${HEAD}"generatedAt":${JSON.stringify(generatedAt)}`,
    'item' in content ? `"item":${content.item}` : `"items":[${content.items.join(',')}]`,
    `"orgId":${canonical(orgId)}`,
    ...('item' in content ? [] : [`"pagination":${canonical({ ...content.pagination })}`]),
    ...(snapshotId === undefined ? [] : [`"snapshotId":${canonical(snapshotId)}`]),
    '"verified_no_npi":true}',
  ].join(',');
  const hashedBytes = Bytes.from(text);
  const evidenceHash = sha256(hashedBytes).toString('hex');
  // The members are encoded once: the sent and the hashed bytes share memory.
  const start = Bytes.from(`${HEAD}"evidence_hash":"${evidenceHash}",`);
  return { bytes: Bytes.concat([start, hashedBytes.subarray(HEAD.length)]), hashedBytes, evidenceHash };
}

/** The hashed and signed bytes of an envelope: its canonical form without `evidence_hash`. */
export function hashedBytesOf(envelope: PartnerEnvelope): Bytes {
  return Bytes.from(canonical(withoutHash(envelope)));
}

/** True when `evidence_hash` is the hash of the other members. Proves integrity, not origin. */
export function hasTrueHash(envelope: PartnerEnvelope): boolean {
  return envelope['evidence_hash'] === canonicalHash(withoutHash(envelope));
}

/** An unverified partner envelope. */
export type PartnerEnvelope = { readonly [member: string]: JsonValue };

export function isPartnerEnvelope(value: JsonValue): value is { [member: string]: JsonValue } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return value['contractVersion'] === PARTNER_CONTRACT;
}

function withoutHash(envelope: PartnerEnvelope): { [member: string]: JsonValue } {
  const { evidence_hash: _hash, ...rest } = envelope;
  return rest;
}
