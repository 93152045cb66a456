import type { KeyedHasher } from '@sealgate/auth';
import { canonical, type JsonValue } from '@sealgate/json';
import { isAuthentic } from './eligibility-record.ts';

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

/**
 * The id of a ledger record: a keyed hash of what it stands for, so that whoever makes it again makes the same one, and
 * nobody else can guess or occupy it. It is stored beside what it was made of: a later secret makes another one.
 */
export function ledgerRecordId(hasher: KeyedHasher, parts: readonly string[]): string {
  return `ledger_rec_${hasher.hash(...parts).digest.toString('hex')}`;
}

/** The ids that any of the secrets may have made of it, that of the current one first. */
export function ledgerRecordIds(hasher: KeyedHasher, parts: readonly string[]): string[] {
  return hasher.hashAll(...parts).map(({ digest }) => `ledger_rec_${digest.toString('hex')}`);
}

/** A venue, as its row holds it. */
export interface VenueRecord {
  readonly environment: string;
  readonly venueId: string;
  readonly name: string;
  /** At an inactive venue nobody may enter. */
  readonly active: boolean;
  /** 1 for the first; each change is one more. */
  readonly recordVersion: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The MAC over every column, as `<secretId>:<base64url>`. */
export function venueMac(venue: VenueRecord, macs: KeyedHasher): string {
  const { id, digest } = macs.hash(...partsOf(venue));
  return `${id}:${digest.toString('base64url')}`;
}

/** Whether a row is as it was written. */
export function isVenueAuthentic(venue: VenueRecord, mac: unknown, macs: KeyedHasher): mac is string {
  return typeof venue.active === 'boolean' && isAuthentic(mac, macs, partsOf(venue));
}

function partsOf({ environment, venueId, name, active, recordVersion, createdAt, updatedAt }: VenueRecord): string[] {
  const times = [createdAt.toISOString(), updatedAt.toISOString()];
  return [environment, venueId, name, String(active), String(recordVersion), ...times];
}

/** What the ledger ids of a venue are made of. */
export function venueName({ environment, venueId }: Pick<VenueRecord, 'environment' | 'venueId'>): string[] {
  return ['venue', environment, venueId];
}

export function venueVersion(venue: VenueRecord, mac: string): VersionedRecord {
  const { environment, venueId, active, updatedAt, recordVersion } = venue;
  const members = { environment, venue_id: venueId, active, updated_at: updatedAt.toISOString(), mac };
  return versionOfRow(venueName(venue), recordVersion, members);
}
