import type { KeyedHasher } from '@sealgate/auth';
import { canonical, type JsonValue } from '@sealgate/json';
import { ledgerRecordIds } from './ledger-record-id.ts';

/**
 * One version of something that decides who may do what: a subject's record, a key, a venue, a policy version. Each is a
 * row whose MAC is over all that decides, the version too, and a ledger record: so a row that was put back is known by the
 * later version that the ledger holds.
 */
export interface VersionedRecord {
  /** What its ledger ids are made of, before the version. It must never change. */
  readonly name: readonly string[];
  /** Of the ledger record. */
  readonly type: string;
  readonly version: number;
  /** Canonical JSON: what the ledger holds under this version. */
  readonly data: string;
}

/** What it is called among the versions that a process has seen. */
export function seenName(name: readonly string[]): string {
  return name.join(' ');
}

/** Where the ledger may hold this version: one id for each secret, that of the current one first. */
export function versionIds(recordIds: KeyedHasher, name: readonly string[], version: number): string[] {
  return ledgerRecordIds(recordIds, [...name, String(version)]);
}

/**
 * The ledger record of a row that is more than its document. Anybody who may read the ledger reads it, so it tells what
 * decides, and neither names nor rules; the row's MAC in it commits to those.
 */
export function versionOfRow(
  name: readonly string[],
  version: number,
  members: Readonly<Record<string, JsonValue>>,
): VersionedRecord {
  return { name, type: `${name[0]}.record`, version, data: canonical({ v: 1, ...members, record_version: version }) };
}
