import { randomPool } from '@sealgate/auth';
import type { App } from '@sealgate/http';
import { InFlight } from '@sealgate/idempotency';
import { cursorCodec } from '@sealgate/paging';
import { memoryLimits } from '@sealgate/rate-limits';
import { readiness, type Composition, type Own } from '@sealgate/service-host';
import { backgroundLoop, reasonOf, startTimer } from '@sealgate/storage';
import { administration, publicApp } from './app.ts';
import { submissionLimits } from './config.ts';
import { activityStore } from './data/activity-store.ts';
import { callersStore } from './data/live-callers.ts';
import { holdNetwork, networksStore } from './data/networks-store.ts';
import { countLiveSources } from './data/sources-store.ts';
import { answerWrite, freshUuids } from './domain/answer-write.ts';
import type { IngestCaller } from './domain/caller.ts';
import { EventTail } from './domain/event-tail.ts';
import { MOST_BYTES } from './domain/body-budget.ts';
import { showKept } from './domain/show-kept.ts';
import { processAgain, testDelivery } from './domain/test-delivery.ts';
import { formOf } from './routes/hooks.ts';
import { ingestGuard, type IngestGuard } from './ingest-guard.ts';
import { openParts, type Parts } from './parts.ts';
import type { Basics } from './open-refusals.ts';

/** Opens all resources of the service and builds its two listeners from them. */
export async function compose(basics: Basics, own: Own): Promise<Composition> {
  const parts = await openParts(basics, own);
  const guard = guardOf(basics, parts);
  return {
    publicApp: publicAppOf(basics, parts, guard),
    adminApp: adminAppOf(basics, parts, guard),
    ready: readiness({
      database: () => parts.database.problem(),
      ledger: () => parts.ledger.health(),
      limits: parts.limits,
      redisProblem: () => parts.redisProblem(),
      connections: parts.connections,
      otherwise: 'the database does not answer in time',
      deadlineMs: 1400,
      now: basics.now,
    }),
  };
}

/** Authentication and rate limiting of the public listener. */
function guardOf({ config, now }: Basics, parts: Parts): IngestGuard {
  const { sql, limits, addresses, ledger, lastUsed, sources } = parts;
  const callers = callersStore({ sql, now, deadlineMs: 1000 });
  return ingestGuard({
    findCaller: callers.find,
    findSource: sources.find,
    onUnknownSource: () => parts.counters.deliveryRefused('unknown-source'),
    ...(ledger.confirmsGuards ? { cached: { caller: callers.lately, source: sources.lately } } : {}),
    touchKey: lastUsed.touch,
    limits,
    refusals: memoryLimits({ now }),
    addresses,
    defaultLimits: { ratePerSecond: config.ratePerSecond, burst: config.rateBurst },
    now,
  });
}

function publicAppOf({ config, now, newId, appBase }: Basics, parts: Parts, guard: IngestGuard): App {
  const { ledger, read, pings, sources, counters, lastUsed } = parts;
  const { bodyMaxBytes, serverSecrets } = config;
  const recordPing = ({ networkId, keyId }: IngestCaller, requestId: string) => {
    const eventId = newId('evt_');
    pings.add({ eventId, networkId, keyId, requestId, atMs: Math.floor(now()) });
    counters.pings.inc();
    return eventId;
  };
  return publicApp(appBase, guard, {
    answerWrite: answerWrite({
      ledger,
      inFlight: new InFlight(),
      fingerprints: serverSecrets.derive('ingest fingerprints'),
      recordIds: serverSecrets.derive('ingest record ids'),
      freshIds: freshUuids(now, randomPool()),
      newId,
      accepted: counters.accepted,
      replayed: counters.replayed,
      touchKey: lastUsed.touch,
    }),
    recordPing,
    limits: submissionLimits(config),
    bodyMaxBytes,
    read,
    onRefusal: counters.refused,
    takeDelivery: sources.takeDelivery,
    mostBytes: MOST_BYTES,
    readMaxBytes: sources.readMaxBytes,
    shareBody: sources.shareBody,
    refuseFlooded(path) {
      const refusal = guard.refuseFlooded(path);
      if (refusal !== undefined) sources.onFlooded(path);
      return refusal;
    },
  });
}

/** Maximum concurrent event-stream clients per process. */
const MOST_TAILS = 20;
/** Tabs of one person, or scripts with one token. */
const MOST_TAILS_OF_ONE = 5;
const TAIL_EVERY_MS = 1000;

function adminAppOf({ config, now, newId, log, appBase }: Basics, parts: Parts, guard: IngestGuard): App {
  const { sql, look, ledger, keys, secretWatch, events, sources } = parts;
  const networks = networksStore(sql, look);
  const begin = (work: () => Promise<void>) => {
    const onFailure = (error: unknown) => log.warn('event_tail_failed', { reason: reasonOf(error) });
    const loop = backgroundLoop({ work, pauseMs: TAIL_EVERY_MS, onFailure });
    return () => void loop.stop();
  };
  const { find: findSource, takeDelivery } = sources;
  const testing = { findSource, takeDelivery, charge: guard.charge, newId, now };
  return administration(appBase, parts.adminAccess, {
    networks,
    holdsChannel: ledger.holdsChannel,
    openChannel: ledger.openChannel,
    holdNetwork,
    countLiveKeys: keys.countLive,
    countSources: (networkId, transaction) => countLiveSources(transaction, networkId),
    keys,
    events,
    tail: new EventTail({
      events,
      refused: sources.refusedEverywhere,
      now,
      mostListeners: MOST_TAILS,
      mostOfOne: MOST_TAILS_OF_ONE,
      begin,
    }),
    activityByHour: activityStore(look),
    startTimer,
    sources: sources.store,
    channelsOf: async (networkId) => (await networks.find(networkId))?.channels,
    seal: sources.seal,
    hasPublicUrl: config.publicUrl !== undefined,
    publicUrl: config.publicUrl,
    deliveries: sources.deliveries,
    mostBytes: sources.mostBytes,
    refused: sources.refused,
    refusedEverywhere: sources.refusedEverywhere,
    activity: sources.activity,
    showKept: showKept({ read: parts.read, formOf }),
    testDelivery: (about) => testDelivery(testing, about),
    holdBody: sources.budget.open,
    processAgain: (about) => processAgain(testing, { ...about, formOf }),
    ledger: ledger.administration,
    records: ledger.records,
    cursors: cursorCodec({ hasher: config.serverSecrets.derive('ingest cursors'), now }),
    inTransaction: sql.transaction,
    auditChange: parts.auditChange,
    now,
    newId,
    defaultLimits: { ratePerSecond: config.ratePerSecond, burst: config.rateBurst },
    maxBatchRecords: config.maxBatchRecords,
    secretReport: secretWatch.report,
    waiting: async () => [await ledger.waiting()],
    listAudit: (query) => parts.audit.list(look, query),
    countAudit: (query) => parts.audit.count(look, query),
    actorNames: parts.actorNames,
    auditSigning: parts.auditSigning,
  });
}
