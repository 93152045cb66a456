import { searchText, tableList } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import { MAX_UNLINKED, type UnlinkedIdentity, type UnlinkedStore } from '../domain/unlinked-identities.ts';

const KEPT_MS = 86_400_000;

interface Row {
  issuer: string;
  subject: string;
  email: string | null;
  email_verified: boolean;
  last_seen_at: Date;
}

/** In the order of the primary key, so that two replicas cannot deadlock. */
const WRITE = `INSERT INTO risk.unlinked_identities AS u (issuer, subject, email, email_verified, last_seen_at, folded)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::timestamptz[], $6::text[])
    AS seen (issuer, subject)
   ORDER BY issuer COLLATE "C", subject COLLATE "C"
  ON CONFLICT (issuer, subject) DO UPDATE
     SET email = EXCLUDED.email, email_verified = EXCLUDED.email_verified, last_seen_at = EXCLUDED.last_seen_at,
         folded = EXCLUDED.folded
   WHERE u.last_seen_at < EXCLUDED.last_seen_at`;

/** Rows that another replica is writing are left to it. */
const PRUNE = `DELETE FROM risk.unlinked_identities u USING (
    SELECT issuer, subject FROM risk.unlinked_identities WHERE last_seen_at <= $1
    UNION ALL
    (SELECT issuer, subject FROM risk.unlinked_identities ORDER BY last_seen_at DESC, issuer, subject OFFSET ${MAX_UNLINKED})
  ) old
  WHERE u.issuer = old.issuer AND u.subject = old.subject AND u.ctid IN (
    SELECT ctid FROM risk.unlinked_identities l WHERE l.issuer = old.issuer AND l.subject = old.subject
       FOR UPDATE SKIP LOCKED)`;

/** The newest, without those that a person of any organisation has by now. */
const NEWEST = `(SELECT u.*, u.ctid FROM risk.unlinked_identities u
     WHERE NOT EXISTS (
       SELECT FROM risk.identities i JOIN risk.people p ON p.person_id = i.person_id AND p.removed_at IS NULL
        WHERE i.issuer = u.issuer AND i.subject = u.subject AND i.removed_at IS NULL)
     ORDER BY last_seen_at DESC, issuer, subject LIMIT ${MAX_UNLINKED}) l`;

/** Issuer and subject in a text that fits into a cursor. */
const ID = `encode(sha256(convert_to(json_build_array(l.issuer, l.subject)::text, 'UTF8')), 'hex') COLLATE "C"`;

/** Identities that belong to nobody, in PostgreSQL for all replicas: the newest of the last 24 hours. */
export function unlinkedStore({ sql, now }: { readonly sql: Sql; readonly now: () => number }): UnlinkedStore {
  const since = () => new Date(now() - KEPT_MS);
  return {
    async write(seen) {
      const column = <Value>(of: (identity: UnlinkedIdentity) => Value): Value[] => seen.map(of);
      const values = [
        column(({ issuer }) => issuer),
        column(({ subject }) => subject),
        column(({ email }) => email),
        column(({ emailVerified }) => emailVerified),
        column(({ lastSeenAt }) => lastSeenAt),
        column(({ issuer, subject, email }) => searchText([issuer, subject, email])),
      ];
      await sql.query({ text: WRITE, values });
      await sql.query({ text: PRUNE, values: [since()] });
    },
    list: tableList(sql, {
      from: NEWEST,
      columns: 'l.issuer, l.subject, l.email, l.email_verified, l.last_seen_at',
      id: ID,
      orders: {
        lastSeenAt: { by: 'l.last_seen_at', type: 'timestamptz' },
        email: { by: 'left(l.email, 40)', type: 'text', nullable: true },
        subject: { by: 'left(l.subject, 40)', type: 'text' },
      },
      whereOf: () => ({ conditions: [['l.last_seen_at > $', since()]] }),
      read: ({ email_verified: emailVerified, last_seen_at: lastSeenAt, ...row }: Row) => ({
        ...row,
        emailVerified,
        lastSeenAt: lastSeenAt.toISOString(),
      }),
    }),
  };
}
