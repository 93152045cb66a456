import { logName, type Declaration } from '@sealgate/envelope';
import { parseVerifierKey, type NoteVerifier } from '@sealgate/merkle';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import type { Epochs } from './epochs.ts';
import { findLogKeys } from './log-keys.ts';
import { findCheckpoint, findPublished, type ProveOptions } from './prove-record.ts';

/** A channel in listings. */
interface ChannelOverview {
  readonly channel: string;
  /** Number of records. */
  readonly size: number;
  /** Number of records, from the first on, covered by the newest checkpoint or by ended logs. */
  readonly signed: number;
  /** Number of records, from the first on, in the archive; undefined if this role may not audit the channel. */
  readonly archived: number | undefined;
  /** Time of the newest signed record; undefined if there is none or this role may not read it. */
  readonly signedUntil: string | undefined;
  /** Time of the oldest record that is not signed yet; likewise. */
  readonly unsignedSince: string | undefined;
}

/** A record without its content. */
interface ListedRecord {
  readonly id: string;
  readonly type: string;
  readonly transactionId: string;
  /** Position in the channel, from 0 without gaps. */
  readonly position: number;
  /** Leaf of a log; `epoch` is absent in the channel's first log. */
  readonly index: number;
  readonly epoch?: number;
  readonly erased: boolean;
  /** The content is in an archive file; owner and time are then undefined. */
  readonly archived: boolean;
  readonly owner: string | null | undefined;
  readonly at: string | undefined;
}

/** Where and when a record was written. */
export interface RecordPlace {
  readonly network: string;
  readonly channel: string;
  /** Position in the channel, from 0 without gaps. */
  readonly position: number;
  readonly at: Date;
}

interface ChannelLog {
  readonly epoch: number;
  readonly origin: string;
  /** The newest signed note; of an ended log its final one. */
  readonly checkpoint: string | undefined;
  /** What the public log serves: with witnesses the newest note that they cosigned, else the newest. */
  readonly published: string | undefined;
  readonly declaration: Declaration | null;
}

/**
 * Read-only views of a ledger for consoles. Every method rejects with LedgerUnavailableError or LedgerForbiddenError.
 */
export interface LedgerExploration {
  /** Channels after a name, or the one of that name, ordered by name. */
  overview(wanted: ChannelsWanted): Promise<ChannelOverview[]>;
  /** Newest first, below a position; undefined if there is no such channel. */
  list(page: RecordsWanted): Promise<ListedRecord[] | undefined>;
  /** The places of the records with this id in these channels. Archived records have none: they hold no time. */
  placesOf(recordId: string, channels: readonly string[]): Promise<RecordPlace[]>;
  /** Oldest first; empty if there is no such channel. */
  logs(channel: string): Promise<ChannelLog[]>;
  /** The root key's statement of the keys that sign for the current log: see `EmbeddedLedger.logKeys`. */
  logKeys(channel: string): Promise<string | undefined>;
  /** Number of unsigned records of all channels, and the time of the oldest. */
  unsigned(): Promise<UnsignedRecords>;
  /** The keys that checkpoints are verified with: those of this process if it signs, and the configured ones. */
  readonly keys: { readonly origin: string; readonly keys: readonly PublishedKey[] };
  /** The policies of witnesses that this process is configured with; an integrator has checkpoints cosigned by them. */
  readonly witnessPolicies: readonly WitnessPolicy[];
}

export interface WitnessPolicy {
  /** Null: of every channel without a policy of its own. */
  readonly channel: string | null;
  /** C2SP tlog-policy. */
  readonly policy: string;
}

/** An item of a surface's list of pending work. */
interface UnsignedRecords {
  readonly what: 'unsigned_records';
  readonly description: string;
  readonly count: number;
  readonly oldestAt: Date | undefined;
}

interface PublishedKey {
  /** As others pin it: `<name>+<id>+<base64>` (C2SP signed-note). */
  readonly verifierKey: string;
  readonly name: string;
  readonly keyId: string;
}

type ChannelsWanted = { readonly after: string; readonly limit: number } | { readonly channel: string };

interface RecordsWanted {
  readonly channel: string;
  readonly below: number | undefined;
  readonly limit: number;
}

type Ports = Pick<ProveOptions, 'sql' | 'epochs' | 'deadlineMs' | 'checked' | 'checkedPublished'> & {
  readonly origin: string;
  readonly verifier: NoteVerifier | undefined;
  readonly verifierKeys: readonly string[];
  readonly witnessPolicies: readonly WitnessPolicy[];
};

export function ledgerExploration(ports: Ports): LedgerExploration {
  return {
    overview: (wanted) => readOverview(ports, wanted),
    list: (page) => listRecords(ports, page),
    placesOf: (recordId, channels) => findPlaces(ports, recordId, channels),
    logs: (channel) => readLogs(ports, channel),
    logKeys: async (channel) => findLogKeys(ports, (await ports.epochs.fresh()).log(channel)),
    unsigned: () => readUnsigned(ports),
    keys: { origin: ports.origin, keys: ports.verifierKeys.map(publishedKey) },
    witnessPolicies: ports.witnessPolicies,
  };
}

function publishedKey(verifierKey: string): PublishedKey {
  const { name, keyHash } = parseVerifierKey(verifierKey);
  return { verifierKey, name, keyId: keyHash };
}

interface OverviewRow {
  channel: string;
  size: string;
  integrated: string;
}

const CHANNELS_ASKED = 100;

async function readUnsigned({ sql, epochs, deadlineMs }: Ports): Promise<UnsignedRecords> {
  // Size and signed size of the current logs.
  const text = 'SELECT channel, size, integrated FROM ledger.logs() WHERE size > integrated';
  const rows = await readLedger<OverviewRow>(sql, { text }, deadlineMs);
  await epochs.fresh();
  const waiting = rows.map(({ channel, size, integrated }) => {
    const signed = signedOf(epochs, channel, Number(integrated));
    return { channel, signed, count: signedOf(epochs, channel, Number(size)) - signed };
  });
  const asked = waiting.slice(0, CHANNELS_ASKED);
  const times = await readTimes(sql, asked, deadlineMs);
  const since = asked.flatMap(({ channel, signed }) => times.get(`${signed} ${channel}`) ?? []);
  const [oldest] = since.sort();
  return {
    what: 'unsigned_records',
    description: 'Records that no checkpoint covers yet',
    count: waiting.reduce((sum, { count }) => sum + count, 0),
    oldestAt: oldest === undefined ? undefined : new Date(oldest),
  };
}

async function readOverview({ sql, epochs, deadlineMs }: Ports, wanted: ChannelsWanted): Promise<ChannelOverview[]> {
  const statement =
    'channel' in wanted
      ? { text: 'SELECT channel, size, integrated FROM ledger.channel($1)', values: [wanted.channel] }
      : {
          text: 'SELECT channel, size, integrated FROM ledger.channels($1, $2)',
          values: [wanted.after, wanted.limit],
        };
  const rows = await readLedger<OverviewRow>(sql, statement, deadlineMs);
  await epochs.fresh();
  const channels = rows.map(({ channel, size, integrated }) => ({
    channel,
    size: Number(size),
    signed: signedOf(epochs, channel, Number(integrated)),
  }));
  const [times, archived] = await Promise.all([
    readTimes(sql, channels, deadlineMs),
    readArchived(sql, channels, deadlineMs),
  ]);
  return channels.map((one) => ({
    ...one,
    archived: archived.get(one.channel),
    signedUntil: times.get(`${one.signed - 1} ${one.channel}`),
    unsignedSince: times.get(`${one.signed} ${one.channel}`),
  }));
}

/** The number of records of a channel; undefined if there is none of that name. @throws as `readLedger` */
export async function readSize(sql: Sql, channel: string, deadlineMs: number): Promise<number | undefined> {
  const statement = { name: 'ledger channel', text: 'SELECT size FROM ledger.channel($1)', values: [channel] };
  const [known] = await readLedger<{ size: string }>(sql, statement, deadlineMs);
  return known && Number(known.size);
}

/** Converts a number of entries in the channel's current log to a number of records in the channel. */
function signedOf(epochs: Epochs, channel: string, integrated: number): number {
  const newest = epochs.of(channel).at(-1);
  return newest === undefined ? integrated : newest.firstIndex + Math.max(0, integrated - 1);
}

/** Times of the last signed and the first unsigned record of each channel, where this role may read them. */
async function readTimes(
  sql: Sql,
  channels: readonly { readonly channel: string; readonly signed: number }[],
  deadlineMs: number,
): Promise<ReadonlyMap<string, string>> {
  const rows = await readLedger<{ channel: string; idx: string; at_ms: string }>(
    sql,
    {
      text: 'SELECT channel, idx, at_ms FROM ledger.times($1, $2)',
      values: [channels.map(({ channel }) => channel), channels.map(({ signed }) => signed)],
    },
    deadlineMs,
  );
  return new Map(rows.map(({ channel, idx, at_ms: at }) => [`${idx} ${channel}`, timeOf(at)]));
}

/** How far each channel is archived, where this role may audit it. */
async function readArchived(
  sql: Sql,
  channels: readonly { readonly channel: string }[],
  deadlineMs: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await readLedger<{ channel: string; archived: string }>(
    sql,
    {
      text: 'SELECT channel, archived FROM ledger.archived_channels($1)',
      values: [channels.map(({ channel }) => channel)],
    },
    deadlineMs,
  );
  return new Map(rows.map(({ channel, archived }) => [channel, Number(archived)]));
}

const timeOf = (atMs: string): string => new Date(Number(atMs)).toISOString();

interface ListedRow {
  id: string;
  type: string;
  owner: string | null;
  transaction_id: Buffer;
  idx: string;
  at_ms: string | null;
  erased: boolean;
  archived: boolean;
}

async function listRecords(
  { sql, epochs, deadlineMs }: Ports,
  { channel, below, limit }: RecordsWanted,
): Promise<ListedRecord[] | undefined> {
  const size = await readSize(sql, channel, deadlineMs);
  if (size === undefined) return undefined;
  // Positions have no gaps, so a page is a range of positions.
  const end = Math.min(size, below ?? Number.MAX_SAFE_INTEGER);
  const from = Math.max(0, end - limit);
  const statement = {
    text: `SELECT r.id, r.type, r.owner, r.transaction_id, r.idx, r.at_ms, r.erased, r.archived_from IS NOT NULL AS archived
             FROM ledger.receipts($1, $2) i CROSS JOIN LATERAL ledger.record($1, i.id) r ORDER BY r.idx DESC`,
    values: [channel, Array.from({ length: end - from }, (_, at) => String(from + at))],
  };
  const rows = await readLedger<ListedRow>(sql, statement, deadlineMs);
  await epochs.fresh();
  return rows.map((row) => ({
    id: row.id,
    type: row.type,
    transactionId: row.transaction_id.toString('hex'),
    position: Number(row.idx),
    ...epochs.place(channel, Number(row.idx)),
    erased: row.erased,
    archived: row.archived,
    owner: row.archived ? undefined : row.owner,
    at: row.at_ms === null ? undefined : timeOf(row.at_ms),
  }));
}

async function findPlaces(
  { sql, deadlineMs }: Ports,
  recordId: string,
  channels: readonly string[],
): Promise<RecordPlace[]> {
  const rows = await readLedger<{ network: string; channel: string; idx: string; at_ms: string }>(
    sql,
    {
      text: `SELECT r.network, r.channel, r.idx, r.at_ms
               FROM ledger.channels_of_id($2, $1) c CROSS JOIN LATERAL ledger.record(c.channel, $2) r
              WHERE r.at_ms IS NOT NULL`,
      values: [channels, recordId],
    },
    deadlineMs,
  );
  return rows.map(({ network, channel, idx, at_ms: at }) => ({
    network,
    channel,
    position: Number(idx),
    at: new Date(Number(at)),
  }));
}

async function readLogs(ports: Ports, channel: string): Promise<ChannelLog[]> {
  const { sql, epochs, deadlineMs, origin } = ports;
  if ((await readSize(sql, channel, deadlineMs)) === undefined) return [];
  await epochs.fresh();
  const first = { epoch: 0, origin: `${origin}/${channel}`, declaration: null };
  const later = epochs
    .of(channel)
    .map(({ epoch, declaration }) => ({ epoch, origin: declaration.origin, declaration }));
  return Promise.all(
    [first, ...later].map(async (one) => {
      const log = logName(channel, one.epoch);
      const last = epochs.lastCheckpoint(log);
      if (last !== undefined) return { ...one, checkpoint: last, published: last };
      const [newest, published] = await Promise.all([findCheckpoint(ports, log), findPublished(ports, log)]);
      return { ...one, checkpoint: newest?.note, published: published?.note };
    }),
  );
}
