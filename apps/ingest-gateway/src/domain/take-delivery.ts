import { AppError } from '@sealgate/errors';
import { claimOf, type Claim, type InFlight } from '@sealgate/idempotency';
import type { KeyedHasher } from '@sealgate/auth';
import { canonical, sha256, type JsonValue } from '@sealgate/json';
import type { LedgerAppender, UnitGuard } from '@sealgate/ledger-port';
import { checkChannels, derivedIds, mayWrite, renderDelivery } from './answer-write.ts';
import { pathOfSource, type LiveSource, type SourceCaller } from './caller.ts';
import { claimKeyOf, cloudEventIn, type CloudEvent } from './cloud-event.ts';
import type { ReadBody } from './read-body.ts';
import type { CanonicalDelivery, DeliveryRules, TextPlace } from './read-delivery.ts';
import { isVouched, type RawDelivery, type Scheme, type Vouched } from './schemes/scheme.ts';
import { SCHEMES, vouch } from './schemes/schemes.ts';
import { writeRecords } from './write-records.ts';

export interface DeliveryRequest {
  readonly caller: SourceCaller;
  readonly requestId: string;
  readonly delivery: RawDelivery;
  /** How the body is parsed, by its media type; undefined for an unsupported one. */
  readonly form: DeliveryRules['form'] | undefined;
  /** What the write must confirm because the source came from the cache; undefined where the source was looked up. */
  readonly guard: UnitGuard | undefined;
  /** Charges the cost of one record; rejects with RATE_LIMITED. */
  charge(): Promise<void>;
  /** Called before an event for which no transaction has confirmed the guard; rejects where the source has changed. */
  confirmCaller(): Promise<void>;
}

/**
 * The outcome of a delivery.
 * - written: now
 * - replayed: the same delivery was written before; the answer is the first one's
 * - conflict: its id exists with other bytes, or the record's id with other content; nothing was written
 * - answered: it was a challenge of the sender
 */
export interface DeliveryAnswer {
  readonly outcome: 'written' | 'replayed' | 'conflict' | 'answered';
  readonly body: string;
  readonly eventId?: string;
  /** Whether the transaction of the record has confirmed the guard. */
  readonly confirmed: boolean;
}

export type TakeDelivery = (request: DeliveryRequest) => Promise<DeliveryAnswer>;

/** The event of a delivery that was rejected as a conflict. */
export interface RejectedDelivery {
  readonly eventId: string;
  readonly networkId: string;
  readonly sourceId: string;
  readonly requestId: string;
  readonly types: readonly string[];
  readonly strippedFields: number;
}

interface TakeDeliveryPorts {
  readonly ledger: LedgerAppender;
  readonly inFlight: InFlight<DeliveryAnswer>;
  /** Makes request fingerprints. */
  readonly fingerprints: KeyedHasher;
  /** Makes the seeds of record ids. */
  readonly recordIds: KeyedHasher;
  readonly read: ReadBody;
  readonly newId: (prefix: string) => string;
  /** Writes the event unless it exists. Rejects as the database does. */
  readonly recordRejected: (event: RejectedDelivery) => Promise<void>;
  /** Called with whether the signature of a delivery is valid. */
  readonly onVouched: (source: LiveSource, holds: boolean) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Takes one delivery: signature, media type, body, types and channels of the source, limits, then the ledger. The claim
 * is (source, delivery id), a row in the transaction of the record, so a delivery is written once. A conflict is
 * answered 200, because no retry of the sender would succeed.
 *
 * @throws AppError UNAUTHENTICATED, UNSUPPORTED_MEDIA_TYPE, the codes of `readDelivery`, ASSET_TYPE_NOT_ALLOWED,
 * UNKNOWN_CHANNEL, RATE_LIMITED, UNAVAILABLE, and those of `writeRecords` for an outage; StaleGuardError as
 * `writeRecords` does.
 */
export function takeDelivery(ports: TakeDeliveryPorts): TakeDelivery {
  return async (request) => {
    const { caller, delivery, form } = request;
    const { source } = caller;
    const scheme = SCHEMES[source.scheme];
    const vouched = vouch(source, delivery, ports.now());
    ports.onVouched(source, isVouched(vouched));
    if (!isVouched(vouched)) throw unvouched(source);
    if (form === undefined || !isUnencoded(delivery)) {
      throw new AppError(
        'UNSUPPORTED_MEDIA_TYPE',
        'The body must be JSON, a form or text in UTF-8, without Content-Encoding.',
      );
    }
    const rules = rulesOf(source, scheme, { delivery, vouched, form });
    const read = await ports.read(delivery.body, { delivery: rules }, caller.networkId);
    if (read.challenge !== undefined) {
      await request.charge();
      return { outcome: 'answered', body: JSON.stringify({ challenge: read.challenge }), confirmed: false };
    }
    // Without a delivery id, deliveries with the same bytes are the same delivery.
    const deliveryId = read.deliveryId ?? `sha256:${sha256(delivery.body).toString('hex')}`;
    if (!mayWrite(caller.grants, read.type))
      throw new AppError('ASSET_TYPE_NOT_ALLOWED', 'The source does not take deliveries of this type.');
    const targetChannels = source.settings.channels;
    const { unparsed } = read;
    const event = cloudEventIn(delivery);
    const extra = extraOf(source, { vouched, deliveryId, body: delivery.body, nowMs: ports.now(), unparsed, event });
    const record = { ...recordOf(read), extra, targetChannels };
    checkChannels([record], caller.channels);
    await request.charge();
    const claimed = isIdOfEvent(source, vouched) ? (claimKeyOf(event) ?? deliveryId) : deliveryId;
    return once(ports, request, { record, deliveryId: claimed, strippedFields: read.strippedFields });
  };
}

/** The signature is over the bytes that were sent, so nothing is decoded. */
function isUnencoded({ header }: RawDelivery): boolean {
  const coding = header('content-encoding');
  return coding === undefined || coding.trim().toLowerCase() === 'identity';
}

/** Whether only a CloudEvent can name the delivery. */
const isIdOfEvent = ({ scheme, settings }: LiveSource, { deliveryId }: Vouched): boolean =>
  (deliveryId ?? settings.deliveryIdFrom ?? SCHEMES[scheme].deliveryIdFrom ?? settings.idFrom) === undefined;

function unvouched({ hasAllKeys }: LiveSource): AppError {
  // The secret that this process cannot decrypt might have verified the signature.
  if (!hasAllKeys) return new AppError('UNAVAILABLE', 'A secret of the source cannot be decrypted by this process.');
  return new AppError('UNAUTHENTICATED', 'The delivery is not signed as its source requires.', {
    headers: { 'WWW-Authenticate': 'Signature realm="sealgate"' },
  });
}

interface Received {
  readonly delivery: RawDelivery;
  readonly vouched: Vouched;
  readonly form: DeliveryRules['form'];
}

function rulesOf(source: LiveSource, scheme: Scheme, { delivery, vouched, form }: Received): DeliveryRules {
  const { settings } = source;
  const textPlace = (place: string | undefined): TextPlace => resolvePlace(place, delivery);
  const id = textPlace(settings.idFrom);
  if (id === null && settings.idFrom !== undefined) throw missing(settings.idFrom);
  const { type, typeFrom } = settings;
  const { 'ce-type': eventType } = cloudEventIn(delivery);
  return {
    form,
    id,
    deliveryId: deliveryIdPlace(source, delivery, vouched),
    type: type === undefined ? textPlace(typeFrom ?? scheme.typeFrom) : { text: type },
    ...((type ?? typeFrom) === undefined && eventType !== undefined ? { typeOtherwise: eventType } : {}),
    owner: textPlace(settings.ownerFrom),
    answersChallenge: scheme.answersChallenge === true,
  };
}

/** Null where the delivery has no id. */
function deliveryIdPlace(source: LiveSource, delivery: RawDelivery, vouched: Vouched): TextPlace {
  const { deliveryIdFrom, idFrom } = source.settings;
  if (deliveryIdFrom !== undefined) return resolvePlace(deliveryIdFrom, delivery);
  const named = vouched.deliveryId ?? (isIdOfEvent(source, vouched) ? cloudEventIn(delivery)['ce-id'] : undefined);
  if (named !== undefined) return { text: named };
  const ofScheme = SCHEMES[source.scheme].deliveryIdFrom;
  const place = resolvePlace(ofScheme ?? idFrom, delivery);
  if (place === null && ofScheme !== undefined) throw missing(ofScheme);
  return place;
}

const HEADER = 'header:';

/** Null where no place is configured or the header is missing. */
function resolvePlace(place: string | undefined, { header }: RawDelivery): TextPlace {
  if (place === undefined) return null;
  if (!place.startsWith(HEADER)) return { pointer: place };
  const text = header(place.slice(HEADER.length));
  return text === undefined ? null : { text };
}

function missing(place: string): AppError {
  const name = place.slice(HEADER.length);
  const detail = 'The header is required.';
  return new AppError('INVALID_REQUEST', 'The delivery does not match the configuration of its source.', {
    faults: [{ in: 'header', pointer: `/${name}`, detail }],
  });
}

const recordOf = ({ id, type, owner, data }: CanonicalDelivery) => ({ id, type, owner, data });

/** The `extra` of the record: which source, secret and method authenticated the delivery. */
function extraOf(
  { sourceId, scheme, keys }: LiveSource,
  about: {
    readonly vouched: Vouched;
    readonly deliveryId: string;
    readonly body: Buffer;
    readonly nowMs: number;
    readonly unparsed: CanonicalDelivery['unparsed'];
    readonly event: CloudEvent;
  },
): string {
  const { keyId, timestamp, evidence } = about.vouched;
  const isPublic = keys.some(({ id, key }) => id === keyId && key.type === 'public');
  const extra: Record<string, JsonValue> = {
    source: sourceId,
    scheme,
    deliveryId: about.deliveryId,
    receivedAt: new Date(about.nowMs).toISOString(),
    bodySha256: sha256(about.body).toString('hex'),
    keyId,
    vouchedBy: isPublic ? 'public-key' : 'shared-secret',
    ...(timestamp === undefined ? {} : { timestamp }),
    ...evidence,
    ...about.event,
    ...(about.unparsed === undefined ? {} : { parsed: false, reason: about.unparsed }),
  };
  return canonical(extra);
}

interface NewDelivery {
  readonly record: Parameters<typeof writeRecords>[1]['records'][number];
  readonly deliveryId: string;
  readonly strippedFields: number;
}

async function once(
  ports: TakeDeliveryPorts,
  request: DeliveryRequest,
  delivery: NewDelivery,
): Promise<DeliveryAnswer> {
  const { caller } = request;
  const { sourceId } = caller.source;
  const scope = [caller.networkId, sourceId];
  const { deliveryId: key } = delivery;
  const body = request.delivery.body;
  const claim = claimOf({ hasher: ports.fingerprints, scope, key, method: 'POST', path: pathOfSource(sourceId), body });
  const name = claim.claim.toString('latin1');
  const work = () => write(ports, request, { ...delivery, claim, scope });
  const { value, joined } = await ports.inFlight.run(name, claim.fingerprint, work);
  if (!joined) return value;
  return { ...value, outcome: value.outcome === 'written' ? 'replayed' : value.outcome, confirmed: false };
}

async function write(
  ports: TakeDeliveryPorts,
  { caller, requestId, guard, confirmCaller }: DeliveryRequest,
  {
    record,
    deliveryId,
    strippedFields,
    claim,
    scope,
  }: NewDelivery & { readonly claim: Claim; readonly scope: string[] },
): Promise<DeliveryAnswer> {
  const { networkId, channels } = caller;
  const { sourceId } = caller.source;
  const eventId = ports.newId('evt_');
  try {
    const outcome = await writeRecords(ports.ledger, {
      ...{ networkId, channels, keyId: sourceId, requestId, eventId, strippedFields, claim, guard },
      records: [record],
      ids: derivedIds(ports.recordIds.hash(...scope, deliveryId).digest),
      otherIds: () => ports.recordIds.hashAll(...scope, deliveryId).map(({ digest }) => derivedIds(digest)),
    });
    const { replayed } = outcome;
    const confirmed = guard !== undefined && !replayed;
    return {
      outcome: replayed ? 'replayed' : 'written',
      body: renderDelivery(outcome),
      eventId: outcome.eventId,
      confirmed,
    };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const types = [record.type];
    await confirmCaller();
    await ports.recordRejected({ eventId, networkId, sourceId, requestId, types, strippedFields });
    return { outcome: 'conflict', body: renderDelivery({ eventId, records: [] }), eventId, confirmed: false };
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'IDEMPOTENCY_KEY_REUSED' || error.code === 'RECORD_CONFLICT');
}
