import type { IncomingHttpHeaders } from 'node:http2';
import type { ErrorDetail } from '@hyperledger/fabric-gateway';
import { gateway as protos, google } from '@hyperledger/fabric-protos';

/** gRPC status codes (https://grpc.io/docs/guides/status-codes/) that the caller's side gives by itself. */
export const GrpcCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

/** A call to a gateway peer that ended otherwise than well, in the gateway client's words. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly code: number;
  /** What the endorsers and orderers behind the peer said. */
  readonly details: readonly ErrorDetail[];

  constructor(code: number, message: string, details: readonly ErrorDetail[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Of headers or trailers that hold a `grpc-status`; undefined where it says that all is well. */
export function failureOfTrailers(trailers: IncomingHttpHeaders): CallFailure | undefined {
  const code = Number(trailers['grpc-status']);
  if (code === GrpcCode.OK) return undefined;
  if (!Number.isInteger(code)) return new CallFailure(GrpcCode.UNKNOWN, 'The peer answered with no known status.');
  return new CallFailure(code, messageOf(trailers), detailsOf(trailers));
}

/** Of an HTTP status by a proxy that does not speak gRPC (https://grpc.io/docs/guides/http-grpc-status-mapping). */
export function failureOfHttpStatus(status: number): CallFailure {
  return new CallFailure(HTTP_CODES.get(status) ?? GrpcCode.UNKNOWN, `The peer answered with HTTP status ${status}.`);
}

/** Of a stream that was cut (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#errors). */
export function failureOfReset(resetCode: number, reason: string): CallFailure {
  return new CallFailure(RESET_CODES.get(resetCode) ?? GrpcCode.INTERNAL, reason);
}

const HTTP_CODES: ReadonlyMap<number, number> = new Map([
  [400, GrpcCode.INTERNAL],
  [401, GrpcCode.UNAUTHENTICATED],
  [403, GrpcCode.PERMISSION_DENIED],
  [404, GrpcCode.UNIMPLEMENTED],
  [429, GrpcCode.UNAVAILABLE],
  [502, GrpcCode.UNAVAILABLE],
  [503, GrpcCode.UNAVAILABLE],
  [504, GrpcCode.UNAVAILABLE],
]);

/** RFC 9113 section 7: REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM. None of them may say that a Submit was refused. */
const RESET_CODES: ReadonlyMap<number, number> = new Map([
  [7, GrpcCode.UNAVAILABLE],
  [8, GrpcCode.CANCELLED],
  [11, GrpcCode.RESOURCE_EXHAUSTED],
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

/** `google.rpc.Status` with `gateway.ErrorDetail`s, in base64; several values stand with commas between. */
function detailsOf({ 'grpc-status-details-bin': text }: IncomingHttpHeaders): ErrorDetail[] {
  if (typeof text !== 'string') return [];
  try {
    return text.split(',').flatMap((value) =>
      google.rpc.Status.deserializeBinary(Buffer.from(value, 'base64'))
        .getDetailsList()
        .map((any) => {
          const detail = protos.ErrorDetail.deserializeBinary(any.getValue_asU8());
          return { address: detail.getAddress(), mspId: detail.getMspId(), message: detail.getMessage() };
        }),
    );
  } catch {
    // The code and the message say what is to be done; details only say more.
    return [];
  }
}
