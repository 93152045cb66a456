import { callersByHash, TickBatcher, type CallersByHash } from '@sealgate/api-keys';
import { SealedTextError, type SecretBox } from '@sealgate/auth';
import { mapOutages, type Sql } from '@sealgate/storage';
import { pathOfSource, type IngestCaller, type SchemeKey, type SourceCaller } from '../domain/caller.ts';
import type { KeyGrants } from '../domain/key.ts';
import type { KeptSecret, SchemeName, SourceSettings } from '../domain/source.ts';
import { SCHEMES } from '../domain/schemes/schemes.ts';

interface CallerRow {
  key_hash: Buffer;
  id: string;
  family_id: string;
  owner_id: string;
  grants: KeyGrants;
  channels: string[];
  rate_per_second: number | null;
  burst: number | null;
  ends_at: Date | null;
  version: string;
}

/** Finds live keys with their networks by hash. `version` is the one that `confirm_guards` compares. */
export function callersStore(options: {
  readonly sql: Sql;
  readonly now: () => number;
  readonly deadlineMs: number;
}): CallersByHash<IngestCaller> {
  const endsAtMs = ({ ends_at: endsAt }: CallerRow) => endsAt?.getTime() ?? Number.POSITIVE_INFINITY;
  return callersByHash({
    ...options,
    name: 'ingest callers',
    columns: `k.id, k.family_id, k.owner_id, k.grants, k.channels, k.rate_per_second, k.burst,
      least(k.expires_at, k.overlap_until) AS ends_at, hash_record_extended(k, 0)::text AS version`,
    from: 'ingest.callers k',
    callerOf: keyCaller,
    endsAtMs,
  });
}

function keyCaller(row: CallerRow): IngestCaller {
  const { rate_per_second: ratePerSecond, burst } = row;
  return {
    keyId: row.id,
    familyId: row.family_id,
    networkId: row.owner_id,
    channels: row.channels,
    grants: row.grants,
    networkLimits: ratePerSecond === null || burst === null ? undefined : { ratePerSecond, burst },
    guard: { kind: 'key', id: row.id, version: row.version },
  };
}

interface LiveRow {
  source_id: string;
  version: string;
  network_id: string;
  scheme: SchemeName;
  settings: SourceSettings;
  secrets: KeptSecret[];
  channels: string[];
  rate_per_second: number | null;
  burst: number | null;
}

// A prepared statement: its columns have to stay when the next version's view has more.
const SOURCES = `SELECT l.source_id, l.network_id, l.scheme, l.settings, l.secrets, l.channels, l.rate_per_second, l.burst,
                        hash_record_extended(l, 0)::text AS version
                   FROM ingest.live_sources l WHERE l.source_id = ANY ($1)`;
const MOST_AT_ONCE = 256;
/** Maximum number of sources whose decrypted secrets are cached; the oldest are evicted. */
const MOST_OPENED = 1000;
const KNOWN_FOR_MS = 10_000;

/**
 * Looks up sources, batching all look-ups of one turn of the event loop into one query; `find` is therefore current on
 * every replica. Decrypted secrets are cached by the version of the row, the one that `confirm_guards` compares.
 */
export function liveSources({
  sql,
  box,
  onSealed,
  deadlineMs,
  now,
  publicUrl,
}: {
  readonly sql: Sql;
  readonly box: SecretBox;
  /** Called for a secret that cannot be decrypted. */
  readonly onSealed: (sourceId: string, reason: string) => void;
  /** Timeout of one query. */
  readonly deadlineMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The URL of the public listener for senders. */
  readonly publicUrl: string | undefined;
}) {
  const opened = new Map<string, Opened>();
  const callerOf = (row: LiveRow, untilMs: number): SourceCaller => {
    const known = opened.get(row.source_id);
    if (known?.caller.guard.version === row.version) {
      known.untilMs = Math.max(known.untilMs, untilMs);
      return known.caller;
    }
    opened.delete(row.source_id);
    if (opened.size >= MOST_OPENED) opened.delete(opened.keys().next().value!);
    const caller = sourceCaller(row, { box, onSealed, publicUrl });
    opened.set(row.source_id, { caller, untilMs });
    return caller;
  };
  const batcher = new TickBatcher<string, SourceCaller | undefined>(
    async (ids) => {
      const distinct = new Set(ids);
      const untilMs = now() + KNOWN_FOR_MS;
      const statement = { name: 'ingest sources', text: SOURCES, values: [[...distinct]] };
      const rows = await sql.query<LiveRow>(statement, { deadlineMs });
      const callers = new Map(rows.map((row) => [row.source_id, callerOf(row, untilMs)]));
      for (const id of distinct) if (!callers.has(id)) opened.delete(id);
      return ids.map((id) => callers.get(id));
    },
    { maxBatch: MOST_AT_ONCE, maxRunning: 2 },
  );
  const detail = 'The source cannot be looked up.';
  return {
    /**
     * The source that accepts deliveries under this id; undefined where there is none or it is disabled.
     * @throws AppError UNAVAILABLE when the database does not answer, OVERLOADED when too many look-ups are queued.
     */
    find: (sourceId: string): Promise<SourceCaller | undefined> => mapOutages(() => batcher.call(sourceId), { detail }),
    /**
     * The result of this process's last look-up, if less than 10 s old. It may be stale: the caller must confirm it in
     * the transaction of the write, and look it up again before refusing. Pure.
     */
    lately(sourceId: string): SourceCaller | undefined {
      const known = opened.get(sourceId);
      return known !== undefined && now() < known.untilMs ? known.caller : undefined;
    },
  };
}

interface Opened {
  readonly caller: SourceCaller;
  untilMs: number;
}

function sourceCaller(
  row: LiveRow,
  { box, onSealed, publicUrl }: Pick<Parameters<typeof liveSources>[0], 'box' | 'onSealed' | 'publicUrl'>,
): SourceCaller {
  const { source_id: sourceId, scheme, settings, rate_per_second: ratePerSecond, burst } = row;
  const keyOf = ({ id, sealed }: KeptSecret): SchemeKey[] => {
    try {
      const key = SCHEMES[scheme].readKey(box.open(sealed, sourceId), settings);
      return key === undefined ? [] : [{ id, key }];
    } catch (error) {
      if (!(error instanceof SealedTextError)) throw error;
      onSealed(sourceId, error.message);
      return [];
    }
  };
  const keys = row.secrets.flatMap(keyOf);
  const { allowedTypes, limits } = settings;
  return {
    keyId: sourceId,
    familyId: sourceId,
    networkId: row.network_id,
    channels: row.channels,
    grants: {
      record: 'whole',
      ...(allowedTypes === undefined ? {} : { allowedAssetTypes: allowedTypes }),
      ...(limits === undefined ? {} : { limits }),
    },
    networkLimits: ratePerSecond === null || burst === null ? undefined : { ratePerSecond, burst },
    guard: { kind: 'source', id: sourceId, version: row.version },
    source: {
      sourceId,
      scheme,
      settings,
      keys,
      url: publicUrl && publicUrl + pathOfSource(sourceId),
      hasAllKeys: keys.length === row.secrets.length,
    },
  };
}
