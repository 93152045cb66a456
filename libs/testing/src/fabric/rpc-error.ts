import { Metadata, type ServiceError } from '@grpc/grpc-js';
import { gateway, google } from '@hyperledger/fabric-protos';
import type { CallStatus } from './faults.ts';

/** gRPC status codes, by the names of the gRPC core concepts. */
export const Code = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNAVAILABLE: 14,
} as const;

/** Fails a call with a gRPC status. */
export class RpcError extends Error {
  readonly status: CallStatus;

  constructor(status: CallStatus) {
    super(status.message);
    this.name = 'RpcError';
    this.status = status;
  }
}

/**
 * The error form of grpc-js servers; details are sent as a google.rpc.Status in the trailer that Fabric's client reads.
 */
export function serviceError({ code, message, details = [] }: CallStatus): ServiceError {
  const metadata = new Metadata();
  if (details.length > 0) metadata.set('grpc-status-details-bin', Buffer.from(statusBytes(code, message, details)));
  return Object.assign(new Error(message), { code, details: message, metadata });
}

function statusBytes(code: number, message: string, details: NonNullable<CallStatus['details']>): Uint8Array {
  const status = new google.rpc.Status();
  status.setCode(code);
  status.setMessage(message);
  for (const { address, mspId, message: text } of details) {
    const detail = new gateway.ErrorDetail();
    detail.setAddress(address);
    detail.setMspId(mspId);
    detail.setMessage(text);
    const any = status.addDetails();
    any.setTypeUrl('type.googleapis.com/gateway.ErrorDetail');
    any.setValue(detail.serializeBinary());
  }
  return status.serializeBinary();
}
