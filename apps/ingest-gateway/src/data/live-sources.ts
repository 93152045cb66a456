import { TickBatcher } from '@sealgate/api-keys';
import { SealedTextError, type SecretBox } from '@sealgate/auth';
import { tellingOutages, type Sql } from '@sealgate/storage';
import type { KeptSecret } from '../domain/manage-sources.ts';
import type { SchemeKey } from '../domain/schemes/scheme.ts';
import { SCHEMES } from '../domain/schemes/schemes.ts';
import type { SchemeName, SourceSettings } from '../domain/source.ts';
import type { SourceCaller } from '../domain/take-delivery.ts';

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

export interface LiveSources {
  /**
   * The source that takes deliveries under this id; undefined when there is none, and when it is disabled.
   * @throws AppError UNAVAILABLE when the database gives no answer, OVERLOADED when too many look-ups wait.
   */
  find(sourceId: string): Promise<SourceCaller | undefined>;
  /**
   * What it was when this process looked it up last, less than 10 s ago. A guess, for whoever confirms it in the transaction
   * of what comes of it, and looks it up before saying no. Pure.
   */
  lately(sourceId: string): SourceCaller | undefined;
}

export interface LiveSourcesOptions {
  readonly sql: Sql;
  readonly box: SecretBox;
  /** Told of a secret that cannot be opened. */
  readonly onSealed: (sourceId: string, reason: string) => void;
  /** Of one query. */
  readonly deadlineMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const text = `SELECT l.*, hash_record_extended(l, 0)::text AS version FROM ingest.live_sources l WHERE l.source_id = ANY ($1)`;
const MOST_AT_ONCE = 256;
/** Sources whose secrets are held opened; the oldest are opened again. */
const MOST_OPENED = 1000;
const KNOWN_FOR_MS = 10_000;

/**
 * Looks sources up, all of one turn of the event loop by one query: what `find` answers is what they are now, on every replica.
 * The opened form of the secrets is kept by the version of the row, which is the one that `confirm_guards` confirms.
 */
export function liveSources({ sql, box, onSealed, deadlineMs, now }: LiveSourcesOptions): LiveSources {
  const opened = new Map<string, Opened>();
  const callerOf = (row: LiveRow, untilMs: number): SourceCaller => {
    const known = opened.get(row.source_id);
    if (known?.caller.guard.version === row.version) {
      known.untilMs = Math.max(known.untilMs, untilMs);
      return known.caller;
    }
    opened.delete(row.source_id);
    if (opened.size >= MOST_OPENED) opened.delete(opened.keys().next().value!);
    const caller = sourceCaller(row, box, onSealed);
    opened.set(row.source_id, { caller, untilMs });
    return caller;
  };
  const batcher = new TickBatcher<string, SourceCaller | undefined>(
    async (ids) => {
      const distinct = new Set(ids);
      const untilMs = now() + KNOWN_FOR_MS;
      const statement = { name: 'ingest sources', text, values: [[...distinct]] };
      const rows = await sql.query<LiveRow>(statement, { deadlineMs });
      const callers = new Map(rows.map((row) => [row.source_id, callerOf(row, untilMs)]));
      for (const id of distinct) if (!callers.has(id)) opened.delete(id);
      return ids.map((id) => callers.get(id));
    },
    { maxBatch: MOST_AT_ONCE, maxRunning: 2 },
  );
  const detail = 'The source cannot be looked up.';
  return {
    find: (sourceId) => tellingOutages(() => batcher.call(sourceId), { detail }),
    lately(sourceId) {
      const known = opened.get(sourceId);
      return known !== undefined && now() < known.untilMs ? known.caller : undefined;
    },
  };
}

interface Opened {
  readonly caller: SourceCaller;
  untilMs: number;
}

function sourceCaller(row: LiveRow, box: SecretBox, onSealed: LiveSourcesOptions['onSealed']): SourceCaller {
  const { source_id: sourceId, scheme, settings, rate_per_second: ratePerSecond, burst } = row;
  const keys = row.secrets.flatMap(({ id, sealed }) => keyOf(row, { id, sealed }, { box, onSealed }));
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
    source: { sourceId, scheme, settings, keys, hasAllKeys: keys.length === row.secrets.length },
  };
}

function keyOf(
  { source_id: sourceId, scheme }: LiveRow,
  { id, sealed }: { readonly id: string; readonly sealed: string },
  { box, onSealed }: Pick<LiveSourcesOptions, 'box' | 'onSealed'>,
): SchemeKey[] {
  try {
    const key = SCHEMES[scheme].readKey(box.open(sealed, sourceId));
    return key === undefined ? [] : [{ id, key }];
  } catch (error) {
    if (!(error instanceof SealedTextError)) throw error;
    onSealed(sourceId, error.message);
    return [];
  }
}
