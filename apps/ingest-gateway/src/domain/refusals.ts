import type { ErrorCode } from '@sealgate/errors';
import { MOST_BYTES } from './body-budget.ts';
import { UNVOUCHED_REASONS } from './schemes/scheme.ts';

/**
 * Why a delivery was refused, for the operator of its source.
 * - those of `Unvouched`, and too-large where the body was not read: its sender is not known to be authentic
 * - too-large, media-type, not-json: what was sent
 * - configuration: a place that the source configures is missing in it, or holds no text that can be used
 * - type-not-allowed, missing-channel, over-limit: settings of source or network
 * - delivery-id-reused: its delivery id was used with other bytes; record-id-taken: its record id has other content.
 *   Both were answered 200.
 */
export const REFUSAL_REASONS = [
  ...UNVOUCHED_REASONS,
  'too-large',
  'media-type',
  'not-json',
  'configuration',
  'type-not-allowed',
  'missing-channel',
  'over-limit',
  'delivery-id-reused',
  'record-id-taken',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

const REASONS: Partial<Record<ErrorCode, RefusalReason>> = {
  PAYLOAD_TOO_LARGE: 'too-large',
  UNSUPPORTED_MEDIA_TYPE: 'media-type',
  INVALID_JSON: 'not-json',
  INVALID_REQUEST: 'configuration',
  ASSET_TYPE_NOT_ALLOWED: 'type-not-allowed',
  UNKNOWN_CHANNEL: 'missing-channel',
  RATE_LIMITED: 'over-limit',
  IDEMPOTENCY_KEY_REUSED: 'delivery-id-reused',
  RECORD_CONFLICT: 'record-id-taken',
};

/** Undefined for what is no refusal of the delivery: an outage, or another request that is still running. */
export const reasonOf = (code: ErrorCode): RefusalReason | undefined => REASONS[code];

/** What to say of a conflict, whose sender was told nothing. */
export const CONFLICTS: Partial<Record<RefusalReason, string>> = {
  'delivery-id-reused': 'A delivery of this id with other bytes was written before.',
  'record-id-taken': 'A record of this id with other content was written before.',
};

/** A refused delivery as its operator sees it. It holds nothing of the body. */
export interface Refusal {
  readonly sourceId: string;
  readonly code: ErrorCode;
  readonly reason: RefusalReason;
  /** Whether its signature was verified. */
  readonly isAuthentic: boolean;
  /** The header that is missing or malformed. */
  readonly header?: string | undefined;
  /** How far its timestamp is ahead of our clock; negative where it is behind. */
  readonly skewSeconds?: number | undefined;
  /** A JSON pointer into the body. */
  readonly pointer?: string | undefined;
  /** For people. Never quotes the body. */
  readonly detail: string;
  readonly deliveryId?: string | undefined;
  readonly mediaType?: string | undefined;
  /** As announced where it was not read; undefined where it is not known. */
  readonly bodyBytes?: number | undefined;
  readonly requestId: string;
  /** The event of a conflict. */
  readonly eventId?: string | undefined;
  readonly atMs: number;
}

/** A refused delivery of the list. */
export interface ListedRefusal extends Omit<Refusal, 'atMs'> {
  readonly refusedId: string;
  readonly at: Date;
  /** Until when it can be processed again; undefined where its body is not kept. */
  readonly keptUntil?: Date | undefined;
  readonly processedAt?: Date | undefined;
  /** Of processing it again: that of a delivery, or the code of the refusal. */
  readonly outcome?: string | undefined;
}

/** A refused delivery, with the network and name of its source, which may be deleted since. */
export interface RefusalOfSource extends ListedRefusal {
  readonly networkId: string;
  readonly sourceName: string;
}

/** Outcomes of processing a delivery again after which there is nothing left to process. */
export const DONE_OUTCOMES = ['written', 'replayed', 'answered'] as const;
type DoneOutcome = (typeof DONE_OUTCOMES)[number];

/** The outcome of a delivery that was processed again and is done; undefined for any other. */
export const doneOutcomeOf = ({ outcome }: { readonly outcome?: string | undefined }): DoneOutcome | undefined =>
  DONE_OUTCOMES.find((done) => done === outcome);

const HOUR_MS = 3_600_000;

/** Why a refused delivery cannot be processed again: its body is not there. */
export function whyNotKept(
  { at, bodyBytes, reason, isAuthentic }: Pick<Refusal, 'bodyBytes' | 'reason' | 'isAuthentic'> & { readonly at: Date },
  { keepRefusedHours: hours = 0 }: { readonly keepRefusedHours?: number | undefined },
  nowMs: number,
): string {
  if (hours === 0) return 'Its body is not kept: the source keeps no refused deliveries (keepRefusedHours is 0).';
  if ((bodyBytes ?? 0) > MOST_BYTES || (bodyBytes === undefined && reason === 'too-large' && !isAuthentic))
    return `Its body was never kept: it is larger than ${MOST_BYTES} bytes, the most that is read.`;
  if (at.getTime() + hours * HOUR_MS <= nowMs)
    return `Its body is not kept any more: the source keeps refused deliveries for ${hours} hours.`;
  return 'Its body was never kept, or had to leave: it was refused before keepRefusedHours was set, or more was refused than is kept of a source.';
}

/** What may be kept of a refused delivery, to process it again. */
export interface KeptDelivery {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}
