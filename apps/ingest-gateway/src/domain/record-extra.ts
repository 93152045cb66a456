import { canonical, type JsonValue } from '@sealgate/json';
import type { LiveSource } from './caller.ts';
import type { CloudEvent } from './cloud-event.ts';
import type { CanonicalDelivery } from './read-delivery.ts';
import type { Vouched } from './schemes/scheme.ts';

/** The `extra` of the record: which source, secret and method authenticated the delivery. */
export function extraOf(
  { sourceId, scheme, keys }: LiveSource,
  about: {
    readonly vouched: Vouched;
    readonly deliveryId: string;
    readonly bodySha256: string;
    readonly nowMs: number;
    readonly unparsed: CanonicalDelivery['unparsed'];
    readonly strippedFields: number;
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
    bodySha256: about.bodySha256,
    keyId,
    vouchedBy: isPublic ? 'public-key' : 'shared-secret',
    ...(timestamp === undefined ? {} : { timestamp }),
    ...evidence,
    ...about.event,
    // Says that the record is less than what was signed.
    ...(about.strippedFields === 0 ? {} : { strippedFields: about.strippedFields }),
    ...(about.unparsed === undefined ? {} : { parsed: false, reason: about.unparsed }),
  };
  return canonical(extra);
}
