import { openSurface, type SecretUse } from '@sealgate/audit';
import { BodyTurns } from '@sealgate/http';
import { missingRights } from '@sealgate/ledger-embedded';
import type { Basics as HostBasics, Own } from '@sealgate/service-host';
import type { PeerConfig } from './config.ts';
import { KEEP_CLAIMS_MS } from './data/job-retention.ts';
import { openJobs } from './open-jobs.ts';
import { openLedger } from './open-ledger.ts';
import { migrations } from './peer-migrations.ts';
import { ledgerMetrics } from './peer-metrics.ts';
import { SCHEMA } from './schema.ts';

export const NAME = 'ledger-peer';

export type Basics = HostBasics<PeerConfig>;
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** What is checked with a server secret after it was made. */
const SECRET_USES: readonly SecretUse[] = [
  {
    what: 'claims on Idempotency-Keys',
    keptMs: KEEP_CLAIMS_MS,
    text: `SELECT split_part(fingerprint, ':', 1) AS secret_id, count(*) AS rows, max(coalesce(done_at, created_at)) AS last_at
             FROM peer.jobs WHERE fingerprint IS NOT NULL GROUP BY 1`,
  },
  { what: 'cursors of lists', keptMs: 86_400_000 },
];

/** Batches of one request, or one job, that are under way at once where one that fails keeps no other back. */
const BATCHES_AT_ONCE = 4;
export const CHECK_WITHIN_MS = 1000;
/** Longer, so that a check that takes too long can say itself which one it is. */
export const LOOK_WITHIN_MS = CHECK_WITHIN_MS + 200;

/** What a body becomes on the heap is several times its bytes. One of the largest is handled at a time, or many smaller. */
const BODY_TURNS = { atOnceBytes: 8_388_608, waitingBytes: 134_217_728, waitMs: 10_000 } as const;

export const planning = ({ mappings, batchMaxBytes }: PeerConfig) => ({
  mappings,
  batchMaxBytes,
  batchesAtOnce: BATCHES_AT_ONCE,
});

/** Everything that is opened, each with how it is let go; released in reverse. */
export async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
  const channels = config.mappings.targets.map(({ channel }) => channel);
  const surface = openSurface({
    ...{ ...basics, own, name: NAME, schema: SCHEMA, migrations },
    ...(config.ledgerDriver === 'embedded' ? { further: (sql) => missingRights(sql, channels) } : {}),
  });
  const { sql, database } = surface;
  const opening = { config, sql, database, now, log, metrics, own, ledgerMetrics: ledgerMetrics(metrics) };
  const ledger = await openLedger(opening);
  await database.problem(); // Said in the log, whether somebody asks for it or not.
  // Requests and jobs have turns of their own: a job may take long, and no request waits for it.
  const [bodyTurns, turns] = [new BodyTurns(BODY_TURNS), new BodyTurns(BODY_TURNS)];
  const running = { ...planning(config), ledger: ledger.assets };
  const { retain } = surface;
  const jobs = openJobs({ sql, retain, owner: newId('proc_'), config, running, turns, now, log, metrics, own });
  const secretWatch = surface.watchSecrets(SECRET_USES, { API_KEY_HASHES: config.apiKeys });
  return { ...surface, ledger, jobs, bodyTurns, secretWatch };
}
