import type { IncomingHttpHeaders } from 'node:http2';
import { Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { gateway as protos, google } from '@hyperledger/fabric-protos';

/** A call to a gateway peer that ended otherwise than well, in grpc-js's words, as the gateway client reads them. */
export class CallFailure extends Error implements ServiceError {
  override readonly name = 'CallFailure';
  readonly code: status;
  readonly metadata: Metadata;

  constructor(code: status, message: string, metadata: Metadata = new Metadata()) {
    super(message);
    this.code = code;
    this.metadata = metadata;
  }

  get details(): string {
    return this.message;
  }
}

/** Of headers or trailers that hold a `grpc-status`; undefined where it says that all is well. */
export function failureOfTrailers(trailers: IncomingHttpHeaders): CallFailure | undefined {
  const text = String(trailers['grpc-status']);
  const code = /^\d{1,2}$/.test(text) ? Number(text) : status.UNKNOWN;
  if (code === status.OK) return undefined;
  return new CallFailure(status[code] === undefined ? status.UNKNOWN : code, messageOf(trailers), metadataOf(trailers));
}

/**
 * Of an HTTP status by a proxy that does not speak gRPC. Of the codes that https://grpc.io/docs/guides/http-grpc-status-mapping
 * gives them, only the one that says nothing: the others would read as the peer's own refusal, and it may never have been asked.
 */
export function failureOfHttpStatus(httpStatus: number): CallFailure {
  const code = UNAVAILABLE_STATUSES.has(httpStatus) ? status.UNAVAILABLE : status.UNKNOWN;
  return new CallFailure(code, `The peer answered with HTTP status ${httpStatus}.`);
}

/** Of a stream that was cut (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#errors). */
export function failureOfReset(resetCode: number): CallFailure {
  const code = RESET_CODES.get(resetCode) ?? status.INTERNAL;
  return new CallFailure(code, `The peer cut the call with HTTP/2 error ${resetCode}.`);
}

const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** RFC 9113 section 7: REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM. None of them may say that a Submit was refused. */
const RESET_CODES: ReadonlyMap<number, status> = new Map([
  [7, status.UNAVAILABLE],
  [8, status.CANCELLED],
  [11, status.RESOURCE_EXHAUSTED],
]);

/** Percent-encoded; what does not decode is told as it came. */
function messageOf({ 'grpc-message': text }: IncomingHttpHeaders): string {
  if (typeof text !== 'string') return '';
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const DETAILS = 'grpc-status-details-bin';

/** What the endorsers and orderers behind the peer said, in base64; several values stand with commas between. */
function metadataOf({ [DETAILS]: text }: IncomingHttpHeaders): Metadata {
  const metadata = new Metadata();
  const values = typeof text === 'string' ? text.split(',').map((value) => Buffer.from(value, 'base64')) : [];
  for (const value of values.filter(isReadable)) metadata.add(DETAILS, value);
  return metadata;
}

/** The gateway client would throw where nobody can catch it. The code and the message say what is to be done without it. */
function isReadable(value: Buffer): boolean {
  try {
    const details = google.rpc.Status.deserializeBinary(value).getDetailsList();
    for (const detail of details) protos.ErrorDetail.deserializeBinary(detail.getValue_asU8());
    return true;
  } catch {
    return false;
  }
}
