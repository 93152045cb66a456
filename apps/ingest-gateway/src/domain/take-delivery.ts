import { AppError } from '@sealgate/errors';
import { claimOf, type Claim, type InFlight } from '@sealgate/idempotency';
import type { KeyedHasher } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';
import type { LedgerAppender, UnitGuard } from '@sealgate/ledger-port';
import { checkChannels, derivedIds, mayWrite, renderDelivery } from './answer-write.ts';
import { maxBytesOf, tooLarge } from './body-budget.ts';
import { pathOfSource, type LiveSource, type SourceCaller } from './caller.ts';
import { claimKeyOf, cloudEventIn, type CloudEvent } from './cloud-event.ts';
import type { ReadBody } from './read-body.ts';
import type { CanonicalDelivery, DeliveryRules, TextPlace } from './read-delivery.ts';
import { extraOf } from './record-extra.ts';
import { CONFLICTS, reasonOf, type KeptDelivery, type Refusal } from './refusals.ts';
import { isVouched, type RawDelivery, type Scheme, type Unvouched, type Vouched } from './schemes/scheme.ts';
import { SCHEMES, vouch } from './schemes/schemes.ts';
import { writeRecords } from './write-records.ts';

export interface DeliveryRequest {
  readonly caller: SourceCaller;
  readonly requestId: string;
  readonly delivery: RawDelivery;
  /** Its headers, to be kept where it is refused. */
  headers(): KeptDelivery['headers'];
  /** How the body is parsed, by its media type; undefined for an unsupported one. */
  readonly form: DeliveryRules['form'] | undefined;
  /** When it was received, where it was kept since: its timestamp is compared with that, and no refusal is noted. */
  readonly receivedAtMs?: number;
  /** Its delivery id when it was refused: its sender may have repeated it, whatever the source configures now. */
  readonly deliveryIdThen?: string | undefined;
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
  readonly transactionId?: string | undefined;
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
  readonly deliveryId: string;
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
  /** Called with whether the signature of a delivery is valid, and if not, why. */
  readonly onVouched: (source: LiveSource, verdict: Vouched | Unvouched, requestId: string) => void;
  /** Called once for a refused delivery, conflicts included, when its source is confirmed. */
  readonly onRefused: (request: DeliveryRequest, refusal: Refusal) => void;
  /** The largest body of any source on this ledger. */
  readonly mostBytes: number;
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
    const { source } = request.caller;
    const verdict = vouch(source, request.delivery, receivedAt(ports, request));
    ports.onVouched(source, verdict, request.requestId);
    const seen: Seen = { deliveryId: undefined };
    try {
      return await takeJudged(ports, request, verdict, seen);
    } catch (error) {
      const refusal = refusalOf(ports, request, { error, verdict, seen });
      if (refusal === undefined) throw error;
      // An outdated source must not refuse anything; the request is then decided anew.
      await request.confirmCaller();
      ports.onRefused(request, refusal);
      throw error;
    }
  };
}

const receivedAt = ({ now }: TakeDeliveryPorts, { receivedAtMs }: DeliveryRequest): number => receivedAtMs ?? now();

/** What was read of a delivery before it was refused. */
interface Seen {
  deliveryId: string | undefined;
}

async function takeJudged(
  ports: TakeDeliveryPorts,
  request: DeliveryRequest,
  verdict: Vouched | Unvouched,
  seen: Seen,
): Promise<DeliveryAnswer> {
  const { caller, delivery, form } = request;
  const { source } = caller;
  const scheme = SCHEMES[source.scheme];
  const maxBytes = maxBytesOf(source.settings, ports.mostBytes);
  if (delivery.body.length > maxBytes) throw tooLarge(maxBytes);
  if (!isVouched(verdict)) throw unvouched(source, verdict);
  if (form === undefined || !isUnencoded(delivery)) {
    throw new AppError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON, a form or text in UTF-8, without Content-Encoding.',
    );
  }
  const event = cloudEventIn(delivery);
  const rules = rulesOf(source, scheme, { delivery, vouched: verdict, form, event });
  const read = await ports.read(delivery.body, { delivery: rules }, caller.networkId);
  if (read.challenge !== undefined) {
    await request.charge();
    return { outcome: 'answered', body: JSON.stringify({ challenge: read.challenge }), confirmed: false };
  }
  seen.deliveryId = read.deliveryId;
  // Without a delivery id, deliveries with the same bytes are the same delivery.
  const bodySha256 = sha256(delivery.body).toString('hex');
  const ofBody = `sha256:${bodySha256}`;
  const { deliveryIdThen } = request;
  const named = deliveryIdThen === undefined ? read.deliveryId : deliveryIdThen === ofBody ? undefined : deliveryIdThen;
  const deliveryId = named ?? ofBody;
  if (!mayWrite(caller.grants, read.type))
    throw new AppError('ASSET_TYPE_NOT_ALLOWED', 'The source does not take deliveries of this type.');
  const targetChannels = source.settings.channels;
  const { unparsed, strippedFields } = read;
  const extra = extraOf(source, {
    vouched: verdict,
    deliveryId,
    bodySha256,
    nowMs: receivedAt(ports, request),
    unparsed,
    strippedFields,
    event,
  });
  const record = { ...recordOf(read), extra, targetChannels };
  checkChannels([record], caller.channels);
  await request.charge();
  const isOfEvent = deliveryIdThen === undefined ? isIdOfEvent(source, verdict) : deliveryIdThen === event['ce-id'];
  // No name begins with a line feed, so none is the claim of a body without one.
  const claimKey = named === undefined ? `\n${deliveryId}` : ((isOfEvent ? claimKeyOf(event) : undefined) ?? named);
  return once(ports, request, { record, deliveryId, claimKey, strippedFields: read.strippedFields });
}

/** The refusal to note; undefined for anything else that is thrown. */
function refusalOf(
  ports: TakeDeliveryPorts,
  request: DeliveryRequest,
  { error, verdict, seen }: { readonly error: unknown; readonly verdict: Vouched | Unvouched; readonly seen: Seen },
): Refusal | undefined {
  if (!(error instanceof AppError)) return undefined;
  const isUnvouched = error.code === 'UNAUTHENTICATED' && !isVouched(verdict);
  const reason = isUnvouched ? verdict.unvouched : reasonOf(error.code);
  if (reason === undefined) return undefined;
  return {
    ...aboutOf(ports, request, error),
    reason,
    isAuthentic: isVouched(verdict),
    ...(isUnvouched ? { header: verdict.header, skewSeconds: verdict.seconds } : {}),
    ...(isVouched(verdict) ? { deliveryId: seen.deliveryId ?? knownDeliveryId(request, verdict) } : {}),
  };
}

function aboutOf(ports: TakeDeliveryPorts, { caller, delivery, requestId }: DeliveryRequest, error: AppError) {
  return {
    sourceId: caller.source.sourceId,
    code: error.code,
    detail: error.faults[0]?.detail ?? error.message,
    pointer: error.faults[0]?.pointer || undefined,
    mediaType: delivery.header('content-type')?.slice(0, MOST_NOTED_CHARACTERS),
    bodyBytes: delivery.body.length,
    requestId,
    atMs: ports.now(),
  };
}

const MOST_NOTED_CHARACTERS = 256;

/** The delivery id, where it does not have to be read from the body. */
function knownDeliveryId({ caller, delivery }: DeliveryRequest, { deliveryId }: Vouched): string | undefined {
  const { scheme, settings } = caller.source;
  const { deliveryIdFrom = SCHEMES[scheme].deliveryIdFrom, idFrom } = settings;
  const place = resolvePlace(deliveryIdFrom ?? idFrom, delivery);
  const known = deliveryId ?? (place !== null && 'text' in place ? place.text : undefined);
  return known?.slice(0, MOST_NOTED_CHARACTERS);
}

/** The signature is over the bytes that were sent, so nothing is decoded. */
function isUnencoded({ header }: RawDelivery): boolean {
  const coding = header('content-encoding');
  return coding === undefined || coding.trim().toLowerCase() === 'identity';
}

/** Whether only a CloudEvent can name the delivery. */
const isIdOfEvent = ({ scheme, settings }: LiveSource, { deliveryId }: Vouched): boolean =>
  (deliveryId ?? settings.deliveryIdFrom ?? SCHEMES[scheme].deliveryIdFrom ?? settings.idFrom) === undefined;

function unvouched({ hasAllKeys }: LiveSource, { unvouched: reason }: Unvouched): AppError {
  // The secret that this process cannot decrypt might have verified the signature.
  if (!hasAllKeys) return new AppError('UNAVAILABLE', 'A secret of the source cannot be decrypted by this process.');
  const headers = { 'WWW-Authenticate': 'Signature realm="sealgate"' };
  const detail = 'The delivery is not signed as its source requires.';
  return new AppError('UNAUTHENTICATED', detail, { headers, cause: new Error(reason) });
}

interface Received {
  readonly delivery: RawDelivery;
  readonly vouched: Vouched;
  readonly form: DeliveryRules['form'];
  readonly event: CloudEvent;
}

function rulesOf(source: LiveSource, scheme: Scheme, received: Received): DeliveryRules {
  const { delivery, form, event } = received;
  const { settings } = source;
  const textPlace = (place: string | undefined): TextPlace => resolvePlace(place, delivery);
  const id = textPlace(settings.idFrom);
  if (id === null && settings.idFrom !== undefined) throw missing(settings.idFrom);
  const { type, typeFrom } = settings;
  return {
    form,
    id,
    deliveryId: deliveryIdPlace(source, received),
    type: type === undefined ? textPlace(typeFrom ?? scheme.typeFrom) : { text: type },
    ...((type ?? typeFrom) === undefined && event['ce-type'] !== undefined ? { typeOtherwise: event['ce-type'] } : {}),
    owner: textPlace(settings.ownerFrom),
    answersChallenge: scheme.answersChallenge === true,
  };
}

/** Null where the delivery has no id. */
function deliveryIdPlace(source: LiveSource, { delivery, vouched, event }: Received): TextPlace {
  const { deliveryIdFrom, idFrom } = source.settings;
  if (deliveryIdFrom !== undefined) return resolvePlace(deliveryIdFrom, delivery);
  const named = vouched.deliveryId ?? (isIdOfEvent(source, vouched) ? event['ce-id'] : undefined);
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

interface NewDelivery {
  readonly record: Parameters<typeof writeRecords>[1]['records'][number];
  /** As it is shown. */
  readonly deliveryId: string;
  /** Names the delivery in its source. */
  readonly claimKey: string;
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
  const { claimKey: key } = delivery;
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
  request: DeliveryRequest,
  {
    record,
    deliveryId,
    claimKey,
    strippedFields,
    claim,
    scope,
  }: NewDelivery & { readonly claim: Claim; readonly scope: string[] },
): Promise<DeliveryAnswer> {
  const { caller, requestId, guard } = request;
  const { networkId, channels } = caller;
  const { sourceId } = caller.source;
  const eventId = ports.newId('evt_');
  try {
    const outcome = await writeRecords(ports.ledger, {
      networkId,
      channels,
      keyId: sourceId,
      requestId,
      eventId,
      strippedFields,
      deliveryId,
      claim,
      guard,
      records: [record],
      ids: derivedIds(ports.recordIds.hash(...scope, claimKey).digest),
      otherIds: () => ports.recordIds.hashAll(...scope, claimKey).map(({ digest }) => derivedIds(digest)),
    });
    const { replayed } = outcome;
    const confirmed = guard !== undefined && !replayed;
    const of = { body: renderDelivery(outcome), eventId: outcome.eventId, transactionId: outcome.transactionIds[0] };
    return { outcome: replayed ? 'replayed' : 'written', ...of, confirmed };
  } catch (error) {
    if (!isConflict(error)) throw error;
    const types = [record.type];
    await request.confirmCaller();
    await ports.recordRejected({ eventId, networkId, sourceId, requestId, types, strippedFields, deliveryId });
    const reason = reasonOf(error.code)!;
    const detail = CONFLICTS[reason] ?? error.message;
    const about = { ...aboutOf(ports, request, error), reason, isAuthentic: true, deliveryId, eventId, detail };
    ports.onRefused(request, about);
    return { outcome: 'conflict', body: renderDelivery({ eventId, records: [] }), eventId, confirmed: false };
  }
}

function isConflict(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'IDEMPOTENCY_KEY_REUSED' || error.code === 'RECORD_CONFLICT');
}
