import type { KeyedHasher } from '@sealgate/auth';

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
