import type { Surface } from '@sealgate/audit';
import type { BodyRequest, BodyShare } from '@sealgate/http';
import type { Basics as HostBasics, Own } from '@sealgate/service-host';
import { CONFLICT, type deliveryCounts } from './data/deliveries-store.ts';
import { refusedEverywhere } from './data/refused-everywhere.ts';
import { refusalWriter, refusedStore } from './data/refused-store.ts';
import {
  BODY_BOUNDS,
  BodyBudget,
  maxBytesOf,
  MOST_BYTES,
  MOST_BYTES_ON_FABRIC,
  tooLarge,
} from './domain/body-budget.ts';
import type { LiveSource, SourceCaller } from './domain/caller.ts';
import type { KeptDelivery, Refusal } from './domain/refusals.ts';
import type { DeliveryRequest } from './domain/take-delivery.ts';
import type { IngestMetrics } from './ingest-metrics.ts';
import type { GatewayConfig } from './config.ts';

export type Basics = HostBasics<GatewayConfig>;

const EXPIRE_EVERY_MS = 60_000;

/** Opens what refused deliveries need: their list, what is kept of them, and the bounds on bodies in flight. */
export function openRefusals(
  options: Basics &
    Pick<Surface, 'sql' | 'look' | 'background' | 'repeat'> & {
      readonly counters: IngestMetrics;
      readonly counts: Pick<ReturnType<typeof deliveryCounts>, 'add'>;
      readonly own: Own;
    },
) {
  const { config, sql, look, background, now, log, metrics, counters, counts, newId, own } = options;
  const box = config.serverSecrets.sealing('kept deliveries');
  const writer = refusalWriter({
    sql: background,
    box,
    newId,
    onDropped: (what, count) => counters.refusalsDropped(what, count),
    onFailure: (error) => log.warn('refusals_failed', { reason: String(error) }),
  });
  own('refused deliveries', () => writer.close());
  const refused = refusedStore({ sql, look, box, now });
  options.repeat({
    name: 'kept deliveries',
    everyMs: EXPIRE_EVERY_MS,
    failure: 'kept_deliveries_not_removed',
    level: 'warn',
    work: () => refusedStore({ sql: background, box, now }).expire(),
  });
  const note = (source: LiveSource, refusal: Refusal, delivery?: () => KeptDelivery): void => {
    const { sourceId, code, reason, skewSeconds, requestId, atMs, eventId } = refusal;
    counters.deliveryRefused(reason);
    const outcome = eventId === undefined ? 'refused' : CONFLICT;
    counts.add({ sourceId, outcome, code, reason, skewSeconds, requestId, atMs });
    const { keepRefusedHours: hours = 0 } = source.settings;
    writer.add(refusal, hours === 0 || delivery === undefined ? undefined : { hours, delivery: delivery() });
  };
  const mostBytes = config.ledgerDriver === 'fabric' ? MOST_BYTES_ON_FABRIC : MOST_BYTES;
  const budget = new BodyBudget(BODY_BOUNDS, now);
  metrics.observedGauge({
    name: 'sealgate_ingest_delivery_bytes',
    help: 'Bytes of bodies of deliveries in flight.',
    read: () => budget.bytes,
  });
  return {
    refused,
    refusedEverywhere: refusedEverywhere({ look, now }),
    budget,
    mostBytes,
    readMaxBytes: (source: LiveSource) => readMaxBytes(source, mostBytes),
    shareBody: sharedBodies({ budget, mostBytes, now, onTooLarge: note }),
    /** What was kept and is processed again has its row already. */
    onRefused(
      { caller: { source }, delivery: { body }, headers, receivedAtMs }: DeliveryRequest,
      refusal: Refusal,
    ): void {
      if (receivedAtMs === undefined) note(source, refusal, () => ({ headers: headers(), body }));
    },
  };
}

/** A source that keeps refused deliveries reads what is too large, to verify and keep it. */
function readMaxBytes({ settings }: LiveSource, mostBytes: number): number {
  return (settings.keepRefusedHours ?? 0) > 0 ? MOST_BYTES : maxBytesOf(settings, mostBytes);
}

/** Refuses bodies that are too large for their source before they are read, and bounds the bytes in flight. */
function sharedBodies({
  budget,
  mostBytes,
  now,
  onTooLarge,
}: {
  readonly budget: BodyBudget;
  readonly mostBytes: number;
  readonly now: () => number;
  readonly onTooLarge: (source: LiveSource, refusal: Refusal) => void;
}): (request: BodyRequest<SourceCaller>) => BodyShare {
  return ({ caller: { source }, requestId, announcedBytes, header }) => {
    const maxBytes = readMaxBytes(source, mostBytes);
    const refuse = (bodyBytes: number | undefined): never => {
      const error = tooLarge(maxBytesOf(source.settings, mostBytes));
      const { sourceId } = source;
      const mediaType = header('content-type')?.slice(0, 200);
      const about = { sourceId, requestId, mediaType, bodyBytes, atMs: now() };
      onTooLarge(source, {
        ...about,
        code: error.code,
        reason: 'too-large',
        isAuthentic: false,
        detail: error.message,
      });
      throw error;
    };
    if (announcedBytes !== undefined && announcedBytes > maxBytes) refuse(announcedBytes);
    const held = budget.open(source.sourceId);
    return {
      arrived(bytes) {
        if (bytes > maxBytes) refuse(undefined);
        held.arrived(bytes);
      },
      onCut: held.onCut,
      release: held.release,
    };
  };
}
