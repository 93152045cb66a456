import { SealedTextError, type SecretBox } from '@sealgate/auth';
import type { SecretUse } from '@sealgate/audit';
import { searchText, tableList } from '@sealgate/paging';
import type { Database, Sql } from '@sealgate/storage';
import { MAX_SOURCES, type SourceStore } from '../domain/manage-sources.ts';
import type { KeptSecret, Source } from '../domain/source.ts';
import { holdNetwork } from './networks-store.ts';

interface SourceRow extends Pick<Source, 'name' | 'scheme' | 'settings' | 'secrets' | 'enabled'> {
  source_id: string;
  network_id: string;
  created_at: Date;
  changed_at: Date;
}

const SOURCE_COLUMNS = [
  ...['source_id', 'network_id', 'name', 'scheme', 'settings', 'secrets', 'enabled', 'created_at', 'changed_at'],
];
const SELECT = `SELECT ${SOURCE_COLUMNS.join(', ')} FROM ingest.sources WHERE deleted_at IS NULL`;

/** Sources in PostgreSQL. */
export function sourcesStore(sql: Pick<Database, 'query' | 'transaction'>, look: Sql = sql): SourceStore {
  return {
    insert: (source, also) =>
      sql.transaction(async (transaction) => {
        if (!(await holdNetwork(transaction, source.networkId))) return 'missing';
        await lockSources(transaction, source.networkId);
        if ((await countLiveSources(transaction, source.networkId)) >= MAX_SOURCES) return 'limit reached';
        const { sourceId, networkId, name, scheme, settings, secrets, enabled, createdAt, changedAt } = source;
        await transaction.query({
          text: `INSERT INTO ingest.sources (source_id, network_id, name, scheme, settings, secrets, enabled, created_at, changed_at, folded)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
          values: [
            ...[sourceId, networkId, name, scheme, JSON.stringify(settings), JSON.stringify(secrets)],
            ...[enabled, createdAt, changedAt, searchText([sourceId, name])],
          ],
        });
        await also(transaction);
        return 'made';
      }),
    async find(networkId, sourceId) {
      const [row] = await sql.query<SourceRow>(oneOf(networkId, sourceId));
      return row === undefined ? undefined : sourceOf(row);
    },
    list: tableList(look, {
      from: 'ingest.sources l',
      columns: SOURCE_COLUMNS.map((column) => `l.${column}`).join(', '),
      id: 'l.source_id',
      orders: {
        createdAt: { by: 'l.created_at', type: 'timestamptz' },
        changedAt: { by: 'l.changed_at', type: 'timestamptz' },
        name: { by: 'left(l.name, 40) COLLATE "C"', type: 'text' },
      },
      whereOf: ({ networkId }: { readonly networkId: string }) => ({
        conditions: [['l.deleted_at IS NULL AND l.network_id = $', networkId]],
      }),
      read: sourceOf,
    }),
    update: (networkId, sourceId, { change, also }) =>
      sql.transaction(async (transaction) => {
        const statement = oneOf(networkId, sourceId);
        const [row] = await transaction.query<SourceRow>({ ...statement, text: `${statement.text} FOR UPDATE` });
        if (row === undefined) return undefined;
        const changed = change(sourceOf(row));
        const { name, settings, secrets, enabled, changedAt } = changed;
        const folded = searchText([sourceId, name]);
        await transaction.query({
          text: `UPDATE ingest.sources SET name = $2, settings = $3, secrets = $4, enabled = $5, changed_at = $6,
                         folded = $7 WHERE source_id = $1`,
          values: [sourceId, name, JSON.stringify(settings), JSON.stringify(secrets), enabled, changedAt, folded],
        });
        await also(transaction);
        return changed;
      }),
    delete: (networkId, sourceId, { at, also }) =>
      sql.transaction(async (transaction) => {
        const known = await transaction.query<{ gone: boolean }>({
          text: `SELECT deleted_at IS NOT NULL AS gone FROM ingest.sources WHERE network_id = $1 AND source_id = $2 FOR UPDATE`,
          values: [networkId, sourceId],
        });
        if (known.length === 0) return 'missing';
        if (known[0]?.gone === true) return 'already';
        await transaction.query({
          text: `UPDATE ingest.sources SET deleted_at = $2, secrets = '[]' WHERE source_id = $1`,
          values: [sourceId, at],
        });
        await also(transaction);
        return 'deleted';
      }),
  };
}

/** Which of these sources accept deliveries: neither deleted nor disabled, nor their network deleted. */
export async function acceptingSources(sql: Sql, sourceIds: readonly string[]): Promise<ReadonlySet<string>> {
  const text = 'SELECT source_id FROM ingest.live_sources WHERE source_id = ANY ($1)';
  const rows = await sql.query<{ source_id: string }>({ text, values: [sourceIds] });
  return new Set(rows.map((row) => row.source_id));
}

/** Number of sources of a network that are not deleted, disabled ones included. */
export async function countLiveSources(sql: Sql, networkId: string): Promise<number> {
  const text = 'SELECT count(*)::integer AS live FROM ingest.sources WHERE network_id = $1 AND deleted_at IS NULL';
  const [row] = await sql.query<{ live: number }>({ text, values: [networkId] });
  return row?.live ?? 0;
}

/** Serialises the creation of sources of a network until the transaction ends, so that the limit holds. */
async function lockSources(sql: Sql, networkId: string): Promise<void> {
  const text = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
  await sql.query({ text, values: [`ingest.sources ${networkId}`] });
}

const oneOf = (networkId: string, sourceId: string) => ({
  text: `${SELECT} AND network_id = $1 AND source_id = $2`,
  values: [networkId, sourceId],
});

function sourceOf({ source_id, network_id, created_at, changed_at, ...row }: SourceRow): Source {
  return {
    sourceId: source_id,
    networkId: network_id,
    ...row,
    createdAt: created_at.toISOString(),
    changedAt: changed_at.toISOString(),
  };
}

/** Secrets encrypted with a server secret; they count until they are encrypted again with another. */
export const sealedSecrets: SecretUse = {
  what: 'secrets of sources',
  text: `SELECT split_part(s.secret ->> 'sealed', ':', 1) AS secret_id, count(*) AS rows, NULL AS last_at
           FROM (SELECT jsonb_array_elements(secrets) AS secret FROM ingest.sources WHERE deleted_at IS NULL) s
          WHERE split_part(s.secret ->> 'sealed', ':', 1) <> $1 GROUP BY 1`,
};

const SEALED_AT_ONCE = 100;

/**
 * Encrypts again, with the current server secret, secrets that an earlier one encrypted; a limited number of sources
 * per call. A secret that this process cannot decrypt stays as it is.
 * @returns how many sources were changed.
 */
export async function resealSecrets(sql: Pick<Database, 'query' | 'transaction'>, box: SecretBox): Promise<number> {
  const making = `${box.currentId}:`;
  const rows = await sql.query<{ source_id: string }>({
    text: `SELECT source_id FROM ingest.sources s WHERE deleted_at IS NULL AND EXISTS (
             SELECT FROM jsonb_array_elements(s.secrets) one WHERE NOT starts_with(one ->> 'sealed', $1)) LIMIT $2`,
    values: [making, SEALED_AT_ONCE],
  });
  let changed = 0;
  for (const { source_id: sourceId } of rows) {
    changed += await sql.transaction(async (transaction) => {
      const [row] = await transaction.query<{ secrets: KeptSecret[] }>({
        text: 'SELECT secrets FROM ingest.sources WHERE source_id = $1 AND deleted_at IS NULL FOR UPDATE',
        values: [sourceId],
      });
      if (row === undefined) return 0;
      const secrets = row.secrets.map((secret) => ({ ...secret, sealed: sealedBy(box, secret.sealed, sourceId) }));
      if (secrets.every(({ sealed }, at) => sealed === row.secrets[at]!.sealed)) return 0;
      const text = 'UPDATE ingest.sources SET secrets = $2 WHERE source_id = $1';
      await transaction.query({ text, values: [sourceId, JSON.stringify(secrets)] });
      return 1;
    });
  }
  return changed;
}

/** Returns a text that cannot be decrypted here unchanged. */
function sealedBy(box: SecretBox, sealed: string, sourceId: string): string {
  if (sealed.startsWith(`${box.currentId}:`)) return sealed;
  try {
    return box.seal(box.open(sealed, sourceId), sourceId);
  } catch (error) {
    if (error instanceof SealedTextError) return sealed;
    throw error;
  }
}
