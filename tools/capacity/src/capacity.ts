/** The load to plan for, averaged over the busiest hour. */
export interface Load {
  /** Networks written to at the same time, each with one channel. */
  readonly networks: number;
  /** Records per second of all networks together. */
  readonly recordsPerSecond: number;
  /** How long records are kept in PostgreSQL. */
  readonly days: number;
  /** Records per request, 1 to 100. */
  readonly batch: number;
  /** Whether requests have an Idempotency-Key. */
  readonly keyed: boolean;
  /** Bytes of JSON in `data` of a record. */
  readonly dataBytes: number;
  /** Gate checks per second. */
  readonly checksPerSecond: number;
  /** Cores of one PostgreSQL server. */
  readonly databaseCores: number;
}

/** Microseconds of one core: per request, and per record in it. */
interface Cost {
  readonly request: number;
  readonly record: number;
}

const costOf = ({ request, record }: Cost, records: number): number => request + record * records;

/**
 * Measured values (tools/bench/RESULTS.md; bytes of five million records and events, and of three million decisions), on
 * a machine with expensive sockets: where sockets are cheap a core carries up to twice as much.
 */
export const MEASURED = {
  gateway: { request: 172, record: 20.3 },
  database: { request: 84, record: 14.4 },
  /** Per check: the gate's process, and PostgreSQL with the log of decisions. */
  gate: 91,
  gateDatabase: 60,
  /** Channels per second that one integrator can extend and sign. */
  integratorChannelsPerSecond: 730,
  /** Maximum checkpoints per second of a channel under constant writes, and their size in files. */
  checkpointsPerSecond: 10,
  checkpointBytes: 261,
  /** Tables with indexes, after VACUUM. A record has 127 bytes of data; events and claims are per request. */
  recordBytes: 520,
  recordDataBytes: 127,
  eventBytes: 225,
  eventDays: 90,
  claimBytes: 211,
  claimDays: 400,
  decisionBytes: 553,
} as const;

/**
 * The most that one PostgreSQL server with its deployment was seen to carry, on two cores that it shared with the services
 * and the load generator (tools/bench/RESULTS.md). Beyond it nothing is promised: a line says that it is unknown.
 */
export const MOST_MEASURED = {
  records: 5_000_000,
  decisions: 3_000_000,
  databaseCores: 2,
  gateways: 2,
  gates: 2,
  /** Written to at the same time, while a large ledger was filled. */
  networks: 60,
} as const;

/** Planned utilisation of a core: the rest absorbs bursts, VACUUM and a lost replica. */
export const PLANNED_LOAD = 0.6;
const CORE_US = 1_000_000 * PLANNED_LOAD;
const DAY_SECONDS = 86_400;

/** The required resources. Bytes are those of PostgreSQL's tables and indexes unless stated otherwise. */
interface Capacity {
  readonly requestsPerSecond: number;
  /** Processes of one core; at least two, so that one may fail. */
  readonly gateways: number;
  readonly gates: number;
  readonly databaseCores: number;
  /** PostgreSQL servers, each with a deployment of its own: a shard. */
  readonly shards: number;
  readonly networksPerShard: number;
  /** Records per second that one channel can take: its appends are sequential transactions. */
  readonly channelLimit: number;
  /** Utilisation of that limit by an average network. */
  readonly channelLoad: number;
  /** Utilisation of an integrator by the channels of a shard. */
  readonly integratorLoad: number;
  readonly records: number;
  /** Of the gate. */
  readonly decisions: number;
  readonly bytesPerRecord: number;
  readonly tableBytes: number;
  /** Twice the tables, for WAL, VACUUM and one restore beside the original. */
  readonly diskBytes: number;
  /** Files of checkpoints, per day, of all shards. */
  readonly checkpointBytesPerDay: number;
  /** The resource with the highest utilisation, hence the next limit. */
  readonly nextLimit: 'channel' | 'integrator' | 'PostgreSQL';
}

/** The requirements of a load. Linear in measured values, so not valid near a limit: cores are planned for 0.6. */
export function capacityOf(load: Load): Capacity {
  const { networks, recordsPerSecond, batch, databaseCores, checksPerSecond } = load;
  const requestsPerSecond = recordsPerSecond / batch;
  const cores = (us: number, perSecond: number): number => (us * perSecond) / CORE_US;
  const appendCores = cores(costOf(MEASURED.database, batch), requestsPerSecond);
  const needed = appendCores + cores(MEASURED.gateDatabase, checksPerSecond);
  const channelLimit = (CORE_US / costOf(MEASURED.database, batch)) * batch;
  // A checkpoint per second is fresh enough for each channel that is written to; an idle integrator makes more.
  const passes = Math.min(networks, requestsPerSecond);
  const shards = Math.max(
    1,
    Math.ceil(needed / databaseCores),
    Math.ceil(passes / (MEASURED.integratorChannelsPerSecond * PLANNED_LOAD)),
  );
  const channelLoad = recordsPerSecond / networks / channelLimit;
  const integratorLoad = passes / shards / MEASURED.integratorChannelsPerSecond;
  const uses = {
    channel: channelLoad,
    integrator: integratorLoad / PLANNED_LOAD,
    PostgreSQL: needed / shards / databaseCores,
  };
  const [nextLimit] = Object.entries(uses).sort(([, one], [, other]) => other - one)[0] as [
    Capacity['nextLimit'],
    number,
  ];
  const bytesPerRecord = bytesOf(load);
  const records = recordsPerSecond * DAY_SECONDS * load.days;
  const decisions = checksPerSecond * DAY_SECONDS * load.days;
  const tableBytes = records * bytesPerRecord + decisions * MEASURED.decisionBytes;
  return {
    requestsPerSecond,
    gateways: Math.max(2, Math.ceil(cores(costOf(MEASURED.gateway, batch), requestsPerSecond))),
    gates: checksPerSecond === 0 ? 0 : Math.max(2, Math.ceil(cores(MEASURED.gate, checksPerSecond))),
    databaseCores: Math.ceil(needed),
    shards,
    networksPerShard: Math.ceil(networks / shards),
    channelLimit,
    channelLoad,
    integratorLoad,
    records,
    decisions,
    bytesPerRecord,
    tableBytes,
    diskBytes: 2 * tableBytes,
    checkpointBytesPerDay:
      Math.min(networks * MEASURED.checkpointsPerSecond, requestsPerSecond) * DAY_SECONDS * MEASURED.checkpointBytes,
    nextLimit,
  };
}

/** Bytes of an average record over `days`: its event and claim are removed before it. */
function bytesOf({ days, batch, keyed, dataBytes }: Load): number {
  const kept = (keptDays: number): number => Math.min(1, keptDays / days);
  const ofRequest = keyed
    ? MEASURED.eventBytes * kept(MEASURED.eventDays) + MEASURED.claimBytes * kept(MEASURED.claimDays)
    : 0;
  return MEASURED.recordBytes + Math.max(0, dataBytes - MEASURED.recordDataBytes) + ofRequest / batch;
}
