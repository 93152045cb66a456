import type { JsonValue } from '@sealgate/json';

/** A SHA-256 in the content of a record. */
export interface Fingerprint {
  /** The path of the member: `attachments/0/sha256`. */
  readonly member: string;
  readonly sha256: string;
}

const NAME = /^(?:.*_)?(?:sha256|SHA256)$|[a-z0-9]Sha256$/;
const MAX = 1_000;

/** The fingerprints of files that a content has, by the names of its members. */
export function fingerprintsIn(content: JsonValue | undefined): readonly Fingerprint[] {
  const found: Fingerprint[] = [];
  // JSON from a ledger is at most 64 levels deep.
  const walk = (value: JsonValue, path: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (found.length === MAX) return;
      const member = [...path, name];
      if (typeof inner === 'string' && NAME.test(name) && /^[0-9a-f]{64}$/.test(inner))
        found.push({ member: member.join('/'), sha256: inner });
      else walk(inner, member);
    }
  };
  if (content !== undefined) walk(content, []);
  return found;
}
