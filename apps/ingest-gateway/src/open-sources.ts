import type { SecretWatch, Surface } from '@sealgate/audit';
import type { SecretBox } from '@sealgate/auth';
import { AppError, type ErrorCode } from '@sealgate/errors';
import { InFlight } from '@sealgate/idempotency';
import { StaleGuardError, type LedgerAppender } from '@sealgate/ledger-port';
import type { Own } from '@sealgate/service-host';
import { deliveriesStore, deliveryCounts } from './data/deliveries-store.ts';
import { activityCounts, readActivity } from './data/source-activity.ts';
import { liveSources } from './data/live-callers.ts';
import { acceptingSources, resealSecrets, sourcesStore } from './data/sources-store.ts';
import { writeRejectedDelivery } from './data/write-events.ts';
import type { EventStore } from './domain/read-events.ts';
import type { ReadBody } from './domain/read-body.ts';
import { CallerChangedError } from '@sealgate/http';
import { pathOfSource, type LiveSource } from './domain/caller.ts';
import { reasonOf } from './domain/refusals.ts';
import { isVouched, type Unvouched, type Vouched } from './domain/schemes/scheme.ts';
import { takeDelivery, type DeliveryRequest, type TakeDelivery } from './domain/take-delivery.ts';
import type { DeliveryOutcome, IngestMetrics } from './ingest-metrics.ts';
import { type Basics, openRefusals } from './open-refusals.ts';

/** How long a concurrent repeat of a delivery waits for the first one: a sender would take a 409 for a failure. */
const IN_FLIGHT_WAIT_MS = 5000;
const SEAL_AGAIN_EVERY_MS = 60_000;
/** How the outcomes that are counted by the minute are counted by the hour. */
const KINDS = { replayed: 'replayed', refused: 'refused', conflict: 'conflicts' } as const;

/** Opens what deliveries to sources need: look-up, verification, counts, and the store of sources. */
export function openSources(
  options: Basics &
    Pick<Surface, 'sql' | 'look' | 'background' | 'repeat'> & {
      readonly ledger: LedgerAppender;
      readonly events: EventStore;
      readonly read: ReadBody;
      readonly secretWatch: SecretWatch;
      readonly counters: IngestMetrics;
      readonly own: Own;
    },
) {
  const { config, sql, look, background, now, log, counters, newId } = options;
  const { serverSecrets } = config;
  const box: SecretBox = serverSecrets.sealing('source secrets');
  const live = liveSources({
    sql,
    box,
    deadlineMs: 1000,
    now,
    publicUrl: config.publicUrl,
    onSealed: (sourceId, reason) => log.error('source_secret_sealed', { sourceId, reason }),
  });
  const { counts, activity } = openCounts(options);
  const failing = watchFailing(options);
  const onEnd = ({ source, requestId, end, code }: DeliveryReport): void => {
    counters.delivered(source.scheme, end);
    const { sourceId } = source;
    if (end === 'written' || end === 'answered') activity.add({ sourceId, kind: 'accepted', atMs: now() });
    const outcome = end === 'replayed' ? 'replayed' : code === undefined ? undefined : 'refused';
    // Refusals with a reason are counted where they are noted.
    if (outcome === undefined || (end !== 'flooded' && isNoted(code))) return;
    counts.add({ sourceId, outcome, code, requestId, atMs: now() });
  };
  const refusals = openRefusals({ ...options, counts });
  const take = takeDelivery({
    ledger: options.ledger,
    inFlight: new InFlight({ waitMs: IN_FLIGHT_WAIT_MS }),
    fingerprints: serverSecrets.derive('ingest fingerprints'),
    recordIds: serverSecrets.derive('ingest record ids'),
    read: options.read,
    newId,
    recordRejected: (event) => writeRejectedDelivery(sql, event, Math.floor(now())),
    onVouched: (source, verdict, requestId) => failing.vouched(source, verdict, requestId),
    onRefused: refusals.onRefused,
    mostBytes: refusals.mostBytes,
    now,
  });
  options.repeat({
    name: 'source secrets',
    everyMs: SEAL_AGAIN_EVERY_MS,
    failure: 'source_secrets_unsealed',
    level: 'debug',
    // Once all processes use the new server secret, re-encrypt secrets of sources that an earlier one encrypted.
    async work() {
      if (!(await options.secretWatch.isSettled())) return;
      const sealed = await resealSecrets(background, box);
      if (sealed > 0) log.info('source_secrets_sealed_again', { sources: sealed });
    },
  });
  return {
    find: live.find,
    lately: live.lately,
    takeDelivery: watchedDeliveries(take, onEnd),
    onFlooded: (path: string) => {
      const caller = live.lately(path.slice(pathOfSource('').length));
      // The scheme of a source that was not looked up for ten seconds is not known, so its flood is not counted.
      if (caller !== undefined) onEnd({ source: caller.source, requestId: '', end: 'flooded', code: 'RATE_LIMITED' });
    },
    ...refusals,
    deliveries: deliveriesStore(look, options.events),
    activity: (sourceId: string, from: Date) => readActivity(look, sourceId, from),
    store: sourcesStore(sql, look),
    seal: (value: string, sourceId: string) => box.seal(value, sourceId),
  };
}

/** What became of deliveries, counted by the minute for lists and by the hour for charts. */
function openCounts({
  background,
  log,
  own,
}: Pick<Basics, 'log'> & Pick<Surface, 'background'> & { readonly own: Own }) {
  const onFailure = (error: unknown) => log.warn('delivery_counts_failed', { reason: String(error) });
  const minutes = deliveryCounts(background, onFailure);
  own('delivery counts', () => minutes.close());
  const activity = activityCounts(background, onFailure);
  own('activity of sources', () => activity.close());
  const counts: Pick<typeof minutes, 'add'> = {
    add(count) {
      minutes.add(count);
      const { sourceId, outcome, atMs } = count;
      activity.add({ sourceId, kind: KINDS[outcome], atMs });
    },
  };
  return { counts, activity };
}

/** Knows the sources of which each recent signature failed, tells of them in the log, and counts them in a metric. */
function watchFailing({
  background,
  now,
  log,
  metrics,
  repeat,
}: Pick<Basics, 'now' | 'log' | 'metrics'> & Pick<Surface, 'background' | 'repeat'>): FailingSources {
  const failing = new FailingSources({
    now,
    onFailing({ sourceId, scheme }, { unvouched: reason, header, seconds: skewSeconds }, requestId) {
      log.warn('source_signature_failed', { sourceId, scheme, reason, header, skewSeconds, requestId });
    },
  });
  repeat({
    name: 'failing sources',
    everyMs: FORGET_EVERY_MS,
    failure: 'failing_sources_unchecked',
    level: 'debug',
    work: () => failing.keep((sourceIds) => acceptingSources(background, sourceIds)),
  });
  metrics.observedGauge({
    name: 'sealgate_ingest_failing_sources',
    help: 'Sources that accept deliveries and whose recent signatures all failed, as seen by this process.',
    read: () => failing.count(),
  });
  return failing;
}

const isNoted = (code: ErrorCode | undefined): boolean =>
  code !== undefined && (code === 'UNAUTHENTICATED' || reasonOf(code) !== undefined);

export interface DeliveryReport {
  readonly source: LiveSource;
  readonly requestId: string;
  readonly end: DeliveryOutcome;
  /** Set for refusals. */
  readonly code?: ErrorCode;
}

/** Reports each result of `take` once, but none of a delivery that is served again because its source changed. */
export function watchedDeliveries(take: TakeDelivery, onEnd: (report: DeliveryReport) => void): TakeDelivery {
  return async (request) => {
    try {
      const answer = await take(request);
      onEnd({ ...aboutOf(request), end: answer.outcome });
      return answer;
    } catch (error) {
      if (error instanceof StaleGuardError || error instanceof CallerChangedError) throw error;
      const code = error instanceof AppError ? error.code : 'INTERNAL';
      onEnd({ ...aboutOf(request), end: endOf(error), code });
      throw error;
    }
  };
}

const aboutOf = ({ caller: { source }, requestId }: DeliveryRequest) => ({ source, requestId });

function endOf(error: unknown): DeliveryOutcome {
  if (!(error instanceof AppError) || error.status >= 500) return 'failed';
  if (error.code === 'UNAUTHENTICATED') return 'unsigned';
  return error.code === 'RATE_LIMITED' ? 'limited' : 'refused';
}

const MOST_FAILING = 1000;
const FORGET_EVERY_MS = 15_000;
/** A source without a bad signature for this long no longer counts as failing. */
const FORGOTTEN_AFTER_MS = 900_000;

type OnFailing = (source: LiveSource, verdict: Unvouched, requestId: string) => void;

/**
 * Sources whose recent signatures were all invalid, as seen by this process: a secret was replaced at one end only, or
 * somebody is guessing. Bounded, in memory.
 */
export class FailingSources {
  /** Time of the last invalid signature by source. */
  readonly #failing = new Map<string, number>();
  readonly #now: () => number;
  readonly #onFailing: OnFailing;

  /** `onFailing` is called with the first invalid signature after a valid one, or after a quarter of an hour without any. */
  constructor({ now, onFailing }: { readonly now: () => number; readonly onFailing: OnFailing }) {
    this.#now = now;
    this.#onFailing = onFailing;
  }

  vouched(source: LiveSource, verdict: Vouched | Unvouched, requestId: string): void {
    const { sourceId } = source;
    if (isVouched(verdict)) {
      if (this.#failing.size > 0) this.#failing.delete(sourceId);
      return;
    }
    const nowMs = this.#now();
    const known = this.#failing.get(sourceId);
    if (known === undefined && this.#failing.size >= MOST_FAILING)
      this.#failing.delete(this.#failing.keys().next().value!);
    this.#failing.set(sourceId, nowMs);
    if (known === undefined || nowMs - known >= FORGOTTEN_AFTER_MS) this.#onFailing(source, verdict, requestId);
  }

  /** Forgets sources that were deleted or disabled, also with their network: nobody can mend them. */
  async keep(accepting: (sourceIds: readonly string[]) => Promise<ReadonlySet<string>>): Promise<void> {
    const asked = [...this.#failing.keys()];
    if (asked.length === 0) return;
    const found = await accepting(asked);
    for (const sourceId of asked) if (!found.has(sourceId)) this.#failing.delete(sourceId);
  }

  /** Number of sources that fail now. */
  count(): number {
    const nowMs = this.#now();
    for (const [sourceId, lastMs] of this.#failing) {
      if (nowMs - lastMs >= FORGOTTEN_AFTER_MS) this.#failing.delete(sourceId);
    }
    return this.#failing.size;
  }
}
