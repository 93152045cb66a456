import { randomUUID } from 'node:crypto';
import type { Database } from '@sealgate/storage';
import { CallWindow } from './call-window.ts';
import type { FabricConnection } from './connection-file.ts';
import type { OnSettlement } from './ending-writer.ts';
import type { FabricClient } from './fabric-client.ts';
import type { FabricObserver } from './fabric-observer.ts';
import { FaultLog } from './fault-log.ts';
import { GatewayClient } from './gateway-client.ts';
import { GatewayPeers } from './gateway-peers.ts';
import { Identities } from './identities.ts';
import { Journal } from './journal.ts';
import { JournalKeeper } from './journal-keeper.ts';
import { AcknowledgedHeights } from './peer-height.ts';
import { PeerCalls } from './peer-calls.ts';
import { Settler } from './settler.ts';
import { Submission } from './submission.ts';

export interface FabricOptions {
  readonly connection: FabricConnection;
  readonly journal: JournalOptions;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly observer?: FabricObserver;
  /** Called with the end of every journalled transaction; see `OnSettlement`. */
  readonly onSettlement?: OnSettlement;
}

interface JournalOptions {
  readonly sql: Database;
  /** The surface's schema, with the tables of `fabricMigrations(schema)`. */
  readonly schema: string;
  /** How long a process may be silent before another takes over its transactions; default 3 s. */
  readonly leaseMs?: number;
  /**
   * SQL, a condition on a settled row `t` of `fabric_transactions`: it is kept while this is true, so that work that is
   * not finished always finds what it has sent.
   */
  readonly inUse?: string;
}

const KEEP_SETTLED_MS = 24 * 60 * 60 * 1000;
/** Short, because a restart waits for it. A lease that ends too early only costs work: see `settler.ts`. */
const LEASE_MS = 3000;

/**
 * Opens a gateway, and resumes what the journal holds of processes that are gone. No dependency need be available yet:
 * a missing key file, peer or database is reported by `credentials()`, `health()` and the errors of calls, and is
 * picked up automatically later.
 */
export function openFabric(options: FabricOptions): FabricClient {
  const { connection, now, observer = {}, onSettlement } = options;
  const { limits, deadlinesMs } = connection;
  const { sql, schema, leaseMs = LEASE_MS, inUse } = options.journal;
  const random = Math.random;
  const identities = new Identities({
    sources: connection.identities,
    preferred: connection.defaultIdentity,
    retired: connection.retired,
    now,
    onProblem: (name, detail) => observer.problem?.('identity_not_reloaded', `${name}: ${detail}`),
    onGone: (name) => observer.problem?.('identity_gone', `work waits for ${name}, which the connection file lacks`),
  });
  // Check now, so that problems are logged from the start.
  identities.load();
  const peers = new GatewayPeers({
    peers: connection.peers,
    deadlinesMs,
    identities,
    now,
    onAway: (endpoint, reason) => observer.problem?.('peer_away', `${endpoint}: ${reason}`),
    onTlsProblem: (endpoint, problem) => observer.problem?.('tls_not_reloaded', `${endpoint}: ${problem}`),
  });
  const faults = new FaultLog({ now, observer });
  const window = new CallWindow({ max: limits.window, queueMax: limits.queue, now });
  const journal = new Journal({ sql, schema, holder: randomUUID(), leaseMs, keepSettledMs: KEEP_SETTLED_MS, inUse });
  const settler = new Settler({ peers, journal, deadlinesMs, now, observer, faults, onSettlement });
  const heights = new AcknowledgedHeights({
    journal,
    peers,
    deliveredBy: (channel, endpoint) => settler.deliveredBy(channel, endpoint),
    now,
  });
  const calls = new PeerCalls({ peers, window, heights, deadlinesMs, now, random, observer, faults });
  const shared = { peers, deadlinesMs, now, observer, faults };
  const submission = new Submission({ ...shared, calls, window, journal, settler, heights, limits, random });
  const keeper = new JournalKeeper({
    journal,
    leaseMs,
    now,
    adopt: (orphans) => settler.adopt(orphans),
    hasRoom: () => settler.unsettled < limits.unsettled,
    known: () => settler.openIds,
    onProblem: (detail) => observer.problem?.('journal_away', detail),
  });
  const parts = { connection, sql, identities, peers, window, journal, settler, calls, submission, heights, keeper };
  return new GatewayClient({ ...parts, now, observer, faults });
}
