import type { KeyedHasher } from '@sealgate/auth';
import { canonical, type JsonValue } from '@sealgate/json';

/**
 * One version of a subject's record, key, venue or policy version. Each is a row whose MAC covers all columns that
 * decide, including the version, and a ledger record, so a rolled back row is detected by the later version in the
 * ledger.
 */
export interface VersionedRecord {
  /** The parts of its ledger ids before the version. They must never change. */
  readonly name: readonly string[];
  /** The type of the ledger record. */
  readonly type: string;
  readonly version: number;
  /** Canonical JSON: the content of the ledger record. */
  readonly data: string;
}

/** The name of a record among those that a process has seen. */
export function seenName(name: readonly string[]): string {
  return name.join(' ');
}

/** The possible ledger ids of this version: one for each secret, that of the current one first. */
export function versionIds(recordIds: KeyedHasher, name: readonly string[], version: number): string[] {
  return ledgerRecordIds(recordIds, [...name, String(version)]);
}

/**
 * The ledger record of a row whose data is not a document of its own. Every reader of the ledger can see it, so it
 * contains what decides and neither names nor rules; the included MAC of the row commits to those.
 */
export function versionOfRow(
  name: readonly string[],
  version: number,
  members: Readonly<Record<string, JsonValue>>,
): VersionedRecord {
  return { name, type: `${name[0]}.record`, version, data: canonical({ v: 1, ...members, record_version: version }) };
}

/**
 * The id of a ledger record: a keyed hash of what it represents, so that it can be derived again and nobody else can
 * guess or occupy it. It is stored, because another secret derives another id.
 */
export function ledgerRecordId(hasher: KeyedHasher, parts: readonly string[]): string {
  return `ledger_rec_${hasher.hash(...parts).digest.toString('hex')}`;
}

/** The ids derived by each of the secrets, that of the current one first. */
function ledgerRecordIds(hasher: KeyedHasher, parts: readonly string[]): string[] {
  return hasher.hashAll(...parts).map(({ digest }) => `ledger_rec_${digest.toString('hex')}`);
}

/** The MAC of these parts, as `<secretId>:<base64url>`. */
export function macOf(macs: KeyedHasher, parts: readonly string[]): string {
  const { id, digest } = macs.hash(...parts);
  return `${id}:${digest.toString('base64url')}`;
}

/** Whether a stored `<secretId>:<base64url>` is the MAC of these parts. Never throws, whatever the column holds. */
export function isAuthentic(mac: unknown, macs: KeyedHasher, parts: readonly string[]): boolean {
  if (typeof mac !== 'string' || parts.some((part) => typeof part !== 'string' || !part.isWellFormed())) return false;
  const colon = mac.indexOf(':');
  if (colon < 0) return false;
  const digest = Buffer.from(mac.slice(colon + 1), 'base64url');
  return macs.verify({ id: mac.slice(0, colon), digest }, ...parts);
}
