import { ServerSecrets, type SecretBox } from '@sealgate/auth';
import { InFlight } from '@sealgate/idempotency';
import { migrate, openDatabase, removeInSteps, type Database } from '@sealgate/storage';
import { preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { jobRemovals } from '../data/job-statements.ts';
import { jobWorker, type JobWorker } from '../data/job-worker.ts';
import { jobsStore, type JobsStore } from '../data/jobs-store.ts';
import { leases, type Leases } from '../data/leases.ts';
import { answerSync, type AnswerSync, type SyncRequest } from '../domain/answer-sync.ts';
import type { AssetLedger } from '../domain/asset-ledger.ts';
import { Mappings } from '../domain/mapping.ts';
import { runJob } from '../domain/run-job.ts';
import { migrations } from '../peer-migrations.ts';

/** Maps everything to our own contract. */
export const anyMapping = new Mappings([
  {
    type: 'asset*',
    target: {
      channel: 'acme.main',
      network: 'acme',
      chaincode: 'records',
      contract: undefined,
      transactions: { write: 'createMany', read: 'read', query: 'queryByType' },
      shape: { kind: 'records' },
      write: 'create',
    },
  },
]);

export interface TestDatabase {
  readonly postgres: ThrowawayPostgres;
  readonly sql: Database;
  close(): Promise<void>;
}

/** A migrated database of the peer. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const postgres = await preparedPostgres('peer', (url) => migrate({ url, sets: migrations }));
  const sql = openDatabase({
    url: postgres.url,
    applicationName: 'peer test',
    maxConnections: 8,
    connectTimeoutMs: 1000,
    deadlineMs: 2000,
  });
  return {
    postgres,
    sql,
    close: async () => {
      await sql.close();
      await postgres.stop();
    },
  };
}

/** Runs the removal of old rows and returns their number. */
export async function removeOldJobs(sql: Database, nowMs: number): Promise<number> {
  let removed = 0;
  for (const step of Object.values(jobRemovals(sql, () => nowMs))) removed += await removeInSteps(step);
  return removed;
}

/** One process of the peer that answers writes and runs jobs. */
export interface TestPeer {
  readonly answer: AnswerSync;
  readonly jobs: JobsStore;
  readonly leases: Leases;
  readonly worker: JobWorker;
  /** Simulates a crash: nothing is released, and leases are no longer renewed. */
  crash(): void;
  close(): Promise<void>;
}

export interface TestPeerOptions {
  readonly sql: Database;
  readonly ledger: AssetLedger;
  readonly owner: string;
  readonly leaseMs?: number;
  readonly now?: () => number;
  readonly runsJobs?: boolean;
  readonly maxWaiting?: number;
  readonly mappings?: Mappings;
  readonly box?: SecretBox;
}

const secrets = ServerSecrets.parse(`s1:${'s'.repeat(32)}`);
let made = 0;

export function testPeer(options: TestPeerOptions): TestPeer {
  const {
    sql,
    ledger,
    owner,
    leaseMs = 60_000,
    now = Date.now,
    runsJobs = true,
    maxWaiting = 100,
    mappings = anyMapping,
    box = secrets.sealing('test'),
  } = options;
  const held = leases({ sql, owner, lengthMs: leaseMs, onError: () => undefined });
  const jobs = jobsStore({
    sql,
    leases: held,
    box,
    now,
    maxWaiting,
    onPromise: () => {
      if (runsJobs) worker.kick();
    },
    onDelay: () => undefined,
  });
  const planning = { ledger, mappings, batchMaxBytes: 1_000_000, batchesAtOnce: 2 };
  let crashed = false;
  const worker = jobWorker({
    jobs,
    leases: held,
    run: (job, mayGoOn) => runJob({ ...planning, jobs }, job, () => mayGoOn() && !crashed),
    atOnce: 2,
    everyMs: 50,
    onError: () => undefined,
  });
  if (runsJobs) worker.start();
  const answer = answerSync({
    ...planning,
    jobs,
    inFlight: new InFlight(),
    fingerprints: secrets.derive('test'),
    newJobId: () => `job_${owner}_${(made += 1)}`,
    now,
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    answerWithinMs: 15_000,
    onAnswer: () => undefined,
  });
  return {
    answer,
    jobs,
    leases: held,
    worker,
    crash: () => {
      crashed = true;
      held.close();
      // Its running job may never end.
      void worker.stop();
    },
    close: async () => {
      await worker.stop();
      await jobs.settle(1000);
      held.close();
    },
  };
}

/** A write of assets of type `asset`, with the given parts. */
export function writeOf(
  ids: readonly string[],
  more: Partial<Pick<SyncRequest, 'prefersAsync' | 'caller'>> & {
    readonly key?: string;
    readonly options?: NonNullable<SyncRequest['body']['options']>;
    readonly type?: string;
    readonly data?: object;
  } = {},
): SyncRequest {
  const { key, options = {}, type = 'asset', data = {} } = more;
  const assets = ids.map((id) => ({ id, type, data: data as { [member: string]: never } }));
  const body = { assets, options };
  return {
    caller: more.caller ?? { familyId: 'family', bucket: 'b', limit: 'calls' as const },
    prefersAsync: more.prefersAsync ?? false,
    idempotencyKeys: key === undefined ? [] : [key],
    method: 'POST',
    path: '/api/assets',
    body,
    rawBody: Buffer.from(JSON.stringify(body)),
  };
}
