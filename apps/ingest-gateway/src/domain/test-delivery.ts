import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import type { SourceCaller } from './caller.ts';
import { SCHEMES } from './schemes/schemes.ts';
import type { KeptDelivery } from './refusals.ts';
import type { DeliveryAnswer, DeliveryRequest, TakeDelivery } from './take-delivery.ts';

/** The answer that the sender would have received. */
export type TestOutcome =
  | { readonly status: 200; readonly code: null; readonly answer: DeliveryAnswer }
  | { readonly status: number; readonly code: string; readonly answer: null };

const TYPE = 'sealgate.test';

interface AdminDeliveryPorts {
  readonly findSource: (sourceId: string) => Promise<SourceCaller | undefined>;
  readonly takeDelivery: TakeDelivery;
  readonly charge: (
    caller: SourceCaller,
    cost: number,
  ) => Promise<{ readonly admitted: boolean; readonly retryAfterSeconds: number }>;
  readonly newId: (prefix: string) => string;
  readonly now: () => number;
}

/**
 * Signs a sample as the sender of a source would, and takes it as any other delivery: the record that it writes stays.
 *
 * @throws AppError INVALID_STATE_TRANSITION where the source has only public keys, which cannot sign.
 */
export async function testDelivery(
  ports: AdminDeliveryPorts,
  { sourceId, requestId }: { readonly sourceId: string; readonly requestId: string },
): Promise<TestOutcome> {
  const caller = await ports.findSource(sourceId);
  if (caller === undefined) return { status: 404, code: 'NOT_FOUND', answer: null };
  const deliveryId = ports.newId('test_');
  const { headers, body } = sampleOf(caller, { deliveryId, timestamp: Math.floor(ports.now() / 1000) });
  const delivery = { header: (name: string) => headers[name], body };
  return outcomeOf(ports, { caller, requestId, delivery, headers: () => Object.entries(headers), form: 'json' });
}

/**
 * Takes a kept delivery again, with the settings of its source as they are now; its timestamp is compared with the time
 * at which it was received. The claim is that of any delivery, so it is written once, however often this is called and
 * whatever its sender repeats.
 */
export async function processAgain(
  ports: AdminDeliveryPorts,
  kept: {
    readonly sourceId: string;
    readonly requestId: string;
    readonly delivery: KeptDelivery;
    readonly receivedAt: Date;
    /** Its delivery id when it was refused, as far as it was known. */
    readonly deliveryIdThen: string | undefined;
    readonly formOf: (contentType: string | undefined) => DeliveryRequest['form'];
  },
): Promise<TestOutcome> {
  const { sourceId, requestId, formOf } = kept;
  const { headers, body } = kept.delivery;
  const caller = await ports.findSource(sourceId);
  if (caller === undefined) return { status: 404, code: 'NOT_FOUND', answer: null };
  const values = new Map(headers);
  const delivery = { header: (name: string) => values.get(name), body };
  return outcomeOf(ports, {
    caller,
    requestId,
    delivery,
    headers: () => headers,
    form: formOf(values.get('content-type')),
    receivedAtMs: kept.receivedAt.getTime(),
    deliveryIdThen: kept.deliveryIdThen,
  });
}

/** The answer that the sender would have received. */
async function outcomeOf(
  { takeDelivery, charge }: AdminDeliveryPorts,
  request: Omit<DeliveryRequest, 'guard' | 'charge' | 'confirmCaller'>,
): Promise<TestOutcome> {
  try {
    const answer = await takeDelivery({
      ...request,
      guard: undefined,
      async charge() {
        const { admitted, retryAfterSeconds } = await charge(request.caller, 1);
        if (!admitted)
          throw new AppError('RATE_LIMITED', 'The rate limit of this source is used up.', { retryAfterSeconds });
      },
      confirmCaller: async () => undefined,
    });
    return { status: 200, code: null, answer };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { status: error.status, code: error.code, answer: null };
  }
}

type Members = { [member: string]: JsonValue };

function sampleOf({ source }: SourceCaller, about: { readonly deliveryId: string; readonly timestamp: number }) {
  const { settings } = source;
  const scheme = SCHEMES[source.scheme];
  const { deliveryId } = about;
  const headers: Record<string, string> = {};
  const sample: Members = { test: true };
  const put = (place: string | undefined, value: string) => {
    if (place?.startsWith('header:') === true) headers[place.slice('header:'.length)] = value;
    else if (place !== undefined) putAt(sample, place, value);
  };
  put(
    settings.type === undefined ? (settings.typeFrom ?? scheme.typeFrom) : undefined,
    settings.allowedTypes?.[0] ?? TYPE,
  );
  put(settings.ownerFrom, TYPE);
  put(settings.deliveryIdFrom ?? scheme.deliveryIdFrom, deliveryId);
  put(settings.idFrom, deliveryId);
  const body = Buffer.from(JSON.stringify(sample));
  const key = source.keys.find((one) => one.key.type === 'secret');
  const signed = key === undefined ? undefined : scheme.sign({ key, body, ...about }, source);
  if (signed === undefined) {
    const detail = 'The source has no secret that can sign: a public key only verifies.';
    throw new AppError('INVALID_STATE_TRANSITION', detail);
  }
  return { headers: { ...headers, ...signed }, body };
}

/** Creates missing objects on the way; replaces other values there. */
function putAt(members: Members, pointer: string, value: string): void {
  const names = pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = names.pop() ?? '';
  let at = members;
  for (const name of names) {
    const next = Object.hasOwn(at, name) ? at[name] : undefined;
    const inner: Members = next !== null && typeof next === 'object' && !Array.isArray(next) ? next : {};
    at[name] = inner;
    at = inner;
  }
  at[last] = value;
}
