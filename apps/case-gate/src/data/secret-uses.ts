import type { SecretUse } from '@sealgate/audit';
import { CLAIM_DAYS } from './background.ts';

const DAY_MS = 86_400_000;

/** Rows whose MAC another secret made than the one that makes now. What is no MAC of ours names no secret. */
const macsOf = (table: string, mac = 'mac', condition = 'true') =>
  `SELECT split_part(${mac}, ':', 1) AS secret_id, count(*) AS rows, NULL AS last_at FROM gate.${table}
    WHERE ${condition} AND ${mac} ~ '^[A-Za-z0-9_-]{1,32}:' AND split_part(${mac}, ':', 1) <> $1 GROUP BY 1`;

/** What the surface checks with a server secret after it was made; see `remake-macs.ts` for what is made again. */
export const secretUses: readonly SecretUse[] = [
  { what: 'keys', text: macsOf('api_keys', `(grants->>'mac')`, 'revoked_at IS NULL') },
  { what: 'venues', text: macsOf('venues') },
  { what: 'policy versions', text: macsOf('policies') },
  { what: 'subjects', text: macsOf('eligibility') },
  { what: 'cases', text: macsOf('cases') },
  { what: 'decisions', text: macsOf('decisions') },
  {
    // Until they are there, what the ledger knows of a row that was made again it knows by the earlier secret alone.
    what: 'records on their way to the ledger',
    text: `SELECT h.id AS secret_id, count(*) AS rows, NULL AS last_at
             FROM (SELECT DISTINCT unnest(ids) AS id FROM gate.secret_holders) h, gate.outbox o
            WHERE h.id <> $1 AND o.record_type LIKE '%.record'
              AND (o.next_attempt_at > now() + interval '3 s' OR o.attempts > 5
                   OR o.data LIKE '%"carried_over":true%') GROUP BY 1`,
  },
  {
    what: 'claims on Idempotency-Keys',
    keptMs: CLAIM_DAYS * DAY_MS,
    text: `SELECT split_part(fingerprint, ':', 1) AS secret_id, count(*) AS rows, max(created_at) AS last_at
             FROM gate.claims GROUP BY 1`,
  },
  { what: 'cursors of lists', keptMs: DAY_MS },
];
