import { randomBytes } from 'node:crypto';

/** W3C Trace Context, section 3.2: version, trace-id, parent-id, flags; later versions may add fields. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const NO_TRACE_ID = '0'.repeat(32);
const NO_PARENT_ID = '0'.repeat(16);

/** The trace id of a valid `traceparent` header, else undefined. */
export function traceIdOf(header: string): string | undefined {
  const match = TRACEPARENT.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, parentId, further] = match;
  if (version === 'ff' || traceId === NO_TRACE_ID || parentId === NO_PARENT_ID) return undefined;
  return version === '00' && further !== undefined ? undefined : traceId;
}

/** A traceparent for a request that came without one. Not sampled: nobody upstream asked for it. */
export function newTraceparent(): string {
  const bytes = randomBytes(24).toString('hex');
  return `00-${bytes.slice(0, 32)}-${bytes.slice(32)}-00`;
}
