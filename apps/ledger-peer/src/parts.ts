import { openSurface, type SecretUse } from '@sealgate/audit';
import { BodyTurns } from '@sealgate/http';
import { missingRights } from '@sealgate/ledger-embedded';
import type { Basics as HostBasics, Own } from '@sealgate/service-host';
import { reasonOf, startTimer } from '@sealgate/storage';
import type { PeerConfig } from './config.ts';
import { KEEP_CLAIMS_MS } from './data/job-statements.ts';
import { EventStreams } from './domain/event-streams.ts';
import { openJobs } from './open-jobs.ts';
import { openLedger } from './open-ledger.ts';
import { openSubscriptions } from './open-subscriptions.ts';
import { sealedSecrets } from './data/subscriptions-store.ts';
import { eventMetrics, ledgerMetrics } from './peer-metrics.ts';
import { migrations, SCHEMA } from './peer-migrations.ts';

export const NAME = 'ledger-peer';

export type Basics = HostBasics<PeerConfig>;
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Values that are verified with a server secret after their creation. */
export const SECRET_USES: readonly SecretUse[] = [
  {
    what: 'claims on Idempotency-Keys',
    keptMs: KEEP_CLAIMS_MS,
    text: `SELECT split_part(fingerprint, ':', 1) AS secret_id, count(*) AS rows, max(coalesce(done_at, created_at)) AS last_at
             FROM peer.jobs WHERE fingerprint IS NOT NULL GROUP BY 1`,
  },
  {
    what: 'transient members of unfinished jobs',
    text: `SELECT split_part(sealed, ':', 1) AS secret_id, count(*) AS rows, max(created_at) AS last_at
             FROM peer.jobs WHERE sealed IS NOT NULL GROUP BY 1`,
  },
  sealedSecrets,
  { what: 'cursors of lists', keptMs: 86_400_000 },
];

/** Streams of events: of this process, and of one key. */
const MOST_STREAMS = 20;
const MOST_STREAMS_OF_ONE = 2;

/** Concurrent batches of one request or job with `continueOnError`. */
const BATCHES_AT_ONCE = 4;
export const CHECK_WITHIN_MS = 1000;
/** Longer, so that a check that times out can report itself which one it is. */
export const LOOK_WITHIN_MS = CHECK_WITHIN_MS + 200;

/**
 * A body takes several times its bytes on the heap. One of the largest is processed at a time, or many smaller ones.
 */
const BODY_TURNS = { atOnceBytes: 8_388_608, waitingBytes: 134_217_728, waitMs: 10_000 } as const;

/** Content of one transaction; a larger asset is sent alone. */
const BATCH_MAX_BYTES = 1_048_576;

export const planning = ({ mappings }: PeerConfig) => ({
  mappings,
  batchMaxBytes: BATCH_MAX_BYTES,
  batchesAtOnce: BATCHES_AT_ONCE,
});

/** Opens all resources; each registers its release, run in reverse order. */
export async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
  const channels = config.mappings.targets.map(({ channel }) => channel);
  const surface = openSurface({
    ...basics,
    own,
    name: NAME,
    schema: SCHEMA,
    migrations,
    ...(config.ledgerDriver === 'embedded' ? { further: (sql) => missingRights(sql, channels) } : {}),
  });
  const { sql, look, background, database } = surface;
  const opened = { config, sql, look, background, database, now, log, metrics, own };
  const ledger = await openLedger({ ...opened, ledgerMetrics: ledgerMetrics(metrics) });
  await database.problem(); // Logs the result at startup even if no probe asks.
  // Requests and jobs have separate turns: a job may take long, and requests must not wait for it.
  const [bodyTurns, turns] = [new BodyTurns(BODY_TURNS), new BodyTurns(BODY_TURNS)];
  const running = { ...planning(config), ledger: ledger.assets };
  const { retain } = surface;
  const box = config.serverSecrets.sealing('transient members of jobs');
  const owner = newId('proc_');
  const jobs = openJobs({ sql, background, retain, box, owner, running, turns, now, log, metrics, own });
  const eventStreams = new EventStreams({
    source: ledger.events,
    mappings: config.mappings,
    now,
    startTimer,
    onProblem: (error) => log.warn('events_not_sent', { reason: reasonOf(error) }),
    mostStreams: MOST_STREAMS,
    mostOfOne: MOST_STREAMS_OF_ONE,
  });
  eventMetrics(metrics, eventStreams);
  const secretWatch = surface.watchSecrets(SECRET_USES, { API_KEY_HASHES: config.apiKeys });
  const subscriptions = openSubscriptions({
    ...surface,
    ...{ config, now, newId, log, metrics, own, secretWatch },
    source: ledger.events,
  });
  return { ...surface, subscriptions, ledger, jobs, bodyTurns, eventStreams, secretWatch };
}
