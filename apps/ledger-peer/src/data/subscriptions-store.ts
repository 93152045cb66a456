import { SealedTextError, type SecretBox } from '@sealgate/auth';
import type { SecretUse } from '@sealgate/audit';
import { searchText, tableList } from '@sealgate/paging';
import type { Database, Sql } from '@sealgate/storage';
import { MAX_SUBSCRIPTIONS, type SubscriptionStore } from '../domain/manage-subscriptions.ts';
import type { DeliveryStore, HeldSubscription } from '../domain/delivery-store.ts';
import type { Subscription } from '../domain/subscription.ts';

interface Row extends Pick<Subscription, 'url' | 'channel' | 'types' | 'events' | 'secrets' | 'cursor' | 'state'> {
  readonly subscription_id: string;
  readonly failing_since: Date | null;
  readonly attempts: number;
  readonly problem: string | null;
  readonly delivered_at: Date | null;
  readonly created_at: Date;
  readonly changed_at: Date;
}

const COLUMNS = [
  ...[
    'subscription_id',
    'url',
    'channel',
    'types',
    'events',
    'secrets',
    'cursor',
    'state',
    'failing_since',
    'attempts',
  ],
  ...['problem', 'delivered_at', 'created_at', 'changed_at'],
];
const SELECT = `SELECT ${COLUMNS.join(', ')} FROM peer.subscriptions`;

/** Subscriptions in PostgreSQL. */
export function subscriptionsStore(sql: Pick<Database, 'query' | 'transaction'>, look: Sql): SubscriptionStore {
  const one = (subscriptionId: string, rest = '') => ({
    text: `${SELECT} WHERE subscription_id = $1${rest}`,
    values: [subscriptionId],
  });
  return {
    insert: (subscription, also) =>
      sql.transaction(async (transaction) => {
        await transaction.query({ text: `SELECT pg_advisory_xact_lock(hashtextextended('peer.subscriptions', 0))` });
        const text = 'SELECT count(*)::integer AS count FROM peer.subscriptions';
        const [counted] = await transaction.query<{ count: number }>({ text });
        if ((counted?.count ?? 0) >= MAX_SUBSCRIPTIONS) return false;
        const { subscriptionId, url, channel, types, events, secrets, cursor, state, createdAt } = subscription;
        await transaction.query({
          text: `INSERT INTO peer.subscriptions (subscription_id, url, channel, types, events, secrets, cursor, state, folded,
                                                 created_at, changed_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`,
          values: [
            ...[subscriptionId, url, channel, types, events, JSON.stringify(secrets), cursor, state],
            ...[searchText([subscriptionId, url, channel]), createdAt],
          ],
        });
        await also(transaction);
        return true;
      }),
    async find(subscriptionId) {
      const [row] = await sql.query<Row>(one(subscriptionId));
      return row === undefined ? undefined : subscriptionOf(row);
    },
    list: tableList(look, {
      from: 'peer.subscriptions l',
      columns: COLUMNS.map((column) => `l.${column}`).join(', '),
      id: 'l.subscription_id',
      orders: { createdAt: { by: 'l.created_at', type: 'timestamptz' } },
      whereOf: () => ({ conditions: [] }),
      read: subscriptionOf,
    }),
    update: (subscriptionId, { change, also }) =>
      sql.transaction(async (transaction) => {
        const [row] = await transaction.query<Row>(one(subscriptionId, ' FOR UPDATE'));
        if (row === undefined) return undefined;
        const changed = change(subscriptionOf(row));
        const { url, types, events, secrets, state, failingSince, attempts, problem, changedAt } = changed;
        await transaction.query({
          text: `UPDATE peer.subscriptions
                    SET url = $2, types = $3, events = $4, secrets = $5, state = $6, failing_since = $7, attempts = $8,
                        problem = $9, changed_at = $10, folded = $11, not_before = NULL, version = version + 1
                  WHERE subscription_id = $1`,
          values: [
            ...[subscriptionId, url, types, events, JSON.stringify(secrets), state, failingSince, attempts, problem],
            ...[changedAt, searchText([subscriptionId, url, changed.channel])],
          ],
        });
        await also(transaction);
        return changed;
      }),
    delete: (subscriptionId, also) =>
      sql.transaction(async (transaction) => {
        const text = 'DELETE FROM peer.subscriptions WHERE subscription_id = $1 RETURNING 1';
        const rows = await transaction.query({ text, values: [subscriptionId] });
        if (rows.length > 0) await also(transaction);
        return rows.length > 0;
      }),
  };
}

function subscriptionOf(row: Row): Subscription {
  const { url, channel, types, events, secrets, cursor, state, attempts, problem } = row;
  return {
    subscriptionId: row.subscription_id,
    ...{ url, channel, types, events, secrets, cursor, state, attempts, problem },
    failingSince: row.failing_since?.toISOString() ?? null,
    deliveredAt: row.delivered_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    changedAt: row.changed_at.toISOString(),
  };
}

export function deliveryStore(
  sql: Sql,
  { owner, leaseMs }: { readonly owner: string; readonly leaseMs: number },
): DeliveryStore {
  const move = async (held: HeldSubscription, set: string, values: readonly unknown[]): Promise<boolean> => {
    const text = `UPDATE peer.subscriptions SET ${set}, lease_until = now() + $3 * interval '1 ms'
                   WHERE subscription_id = $1 AND lease_owner = $2 AND version = $4 RETURNING 1`;
    const { subscriptionId } = held.subscription;
    return (await sql.query({ text, values: [subscriptionId, owner, leaseMs, held.version, ...values] })).length > 0;
  };
  return {
    async hold() {
      const rows = await sql.query<Row & { version: number; not_before: Date | null }>({
        text: `UPDATE peer.subscriptions SET lease_owner = $1, lease_until = now() + $2 * interval '1 ms'
                WHERE state = 'active' AND (lease_owner = $1 OR lease_until IS NULL OR lease_until < now())
               RETURNING ${COLUMNS.join(', ')}, version, not_before`,
        values: [owner, leaseMs],
      });
      return rows.map((row) => ({
        subscription: subscriptionOf(row),
        version: row.version,
        notBefore: row.not_before,
      }));
    },
    acknowledge: (held, cursor, at) =>
      move(
        held,
        `cursor = $5, delivered_at = coalesce($6, delivered_at), failing_since = NULL, attempts = 0, problem = NULL,
         not_before = NULL`,
        [cursor, at ?? null],
      ),
    fail: (held, { problem, attempts, since, notBefore }) =>
      move(held, 'problem = $5, attempts = $6, failing_since = $7, not_before = $8', [
        ...[problem, attempts, since, notBefore],
      ]),
    stop: (held) => move(held, `state = 'stopped', version = version + 1`, []),
    async release() {
      const text = 'UPDATE peer.subscriptions SET lease_until = NULL, lease_owner = NULL WHERE lease_owner = $1';
      await sql.query({ text, values: [owner] });
    },
    async count() {
      const text = `SELECT count(*) FILTER (WHERE state = 'active' AND failing_since IS NULL)::integer AS active,
                           count(*) FILTER (WHERE state = 'active' AND failing_since IS NOT NULL)::integer AS failing,
                           count(*) FILTER (WHERE state = 'paused')::integer AS paused,
                           count(*) FILTER (WHERE state = 'stopped')::integer AS stopped
                      FROM peer.subscriptions`;
      const [counts] = await sql.query<{ active: number; failing: number; paused: number; stopped: number }>({ text });
      return counts!;
    },
  };
}

/** Secrets of receivers, encrypted with a server secret; they count until they are encrypted again with another. */
export const sealedSecrets: SecretUse = {
  what: 'secrets of subscriptions',
  text: `SELECT split_part(s.secret ->> 'sealed', ':', 1) AS secret_id, count(*) AS rows, NULL AS last_at
           FROM (SELECT jsonb_array_elements(secrets) AS secret FROM peer.subscriptions) s
          WHERE split_part(s.secret ->> 'sealed', ':', 1) <> $1 GROUP BY 1`,
};

/** Encrypts again, with the current server secret, what an earlier one encrypted. Returns how many rows were changed. */
export async function resealSecrets(sql: Pick<Database, 'transaction'>, box: SecretBox): Promise<number> {
  return sql.transaction(async (transaction) => {
    const rows = await transaction.query<Pick<Row, 'subscription_id' | 'secrets'>>({
      text: `SELECT subscription_id, secrets FROM peer.subscriptions s WHERE EXISTS (
               SELECT FROM jsonb_array_elements(s.secrets) one WHERE NOT starts_with(one ->> 'sealed', $1)) FOR UPDATE`,
      values: [`${box.currentId}:`],
    });
    let changed = 0;
    for (const { subscription_id: id, secrets } of rows) {
      const sealed = secrets.map((secret) => ({ ...secret, sealed: sealedAgain(box, secret.sealed, id) }));
      if (sealed.every((secret, at) => secret.sealed === secrets[at]!.sealed)) continue;
      const text = 'UPDATE peer.subscriptions SET secrets = $2 WHERE subscription_id = $1';
      await transaction.query({ text, values: [id, JSON.stringify(sealed)] });
      changed += 1;
    }
    return changed;
  });
}

/** What cannot be decrypted here stays as it is. */
function sealedAgain(box: SecretBox, sealed: string, subscriptionId: string): string {
  if (sealed.startsWith(`${box.currentId}:`)) return sealed;
  try {
    return box.seal(box.open(sealed, subscriptionId), subscriptionId);
  } catch (error) {
    if (error instanceof SealedTextError) return sealed;
    throw error;
  }
}
