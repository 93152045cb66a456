import type { AccessToken } from '@sealgate/identity';
import type { TableList } from '@sealgate/paging';
import { named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { Flag, OrNull, Text, Time } from '../schemas.ts';
import { emailOf } from './identities.ts';
import { timeText } from './resource.ts';

/** An identity whose valid access token belongs to nobody. */
export const UnlinkedIdentity = named(
  'UnlinkedIdentity',
  Type.Object({
    issuer: Text,
    subject: Text,
    email: OrNull(Type.String({ description: 'As the provider says, for display: link by issuer and subject.' })),
    emailVerified: Flag,
    lastSeenAt: Time,
  }),
);
export type UnlinkedIdentity = Static<typeof UnlinkedIdentity>;

/** Each call has a deadline. */
export interface UnlinkedStore {
  /** Writes these rows, and removes all but the newest of all replicas. */
  write(seen: readonly UnlinkedIdentity[]): Promise<void>;
  /** The newest of those that nobody is linked to. */
  readonly list: TableList<object, UnlinkedIdentity, UnlinkedOrder>;
}

export const UNLINKED_ORDERS = ['lastSeenAt', 'email', 'subject'] as const;
export type UnlinkedOrder = (typeof UNLINKED_ORDERS)[number];

/** The most that are kept, here and in the database. */
export const MAX_UNLINKED = 1000;

/**
 * Collects identities in memory, so that requests do not wait for the database. Of more than 1,000 between two writes
 * only the newest are kept; a failed write is repeated with the next.
 */
export function unlinkedIdentities({
  store,
  now,
}: {
  readonly store: Pick<UnlinkedStore, 'write'>;
  readonly now: () => number;
}) {
  const seen = new Map<string, UnlinkedIdentity>();
  return {
    /** Never waits. */
    note(token: AccessToken): void {
      const { issuer, subject } = token;
      const key = JSON.stringify([issuer, subject]);
      seen.delete(key);
      seen.set(key, { issuer, subject, ...emailOf(token), lastSeenAt: timeText(now()) });
      const [oldest] = seen.size > MAX_UNLINKED ? seen.keys() : [];
      if (oldest !== undefined) seen.delete(oldest);
    },
    /** @throws what `write` throws. */
    async flush(): Promise<void> {
      const batch = [...seen];
      if (batch.length === 0) return;
      await store.write(batch.map(([, identity]) => identity));
      for (const [key, identity] of batch) if (seen.get(key) === identity) seen.delete(key);
    },
  };
}
