import { Client, credentials, status, type ClientOptions, type ServiceError } from '@grpc/grpc-js';
import { gateway as protos, google } from '@hyperledger/fabric-protos';
import type { FabricPeer } from './connection-file.ts';

/** A message holds a whole transaction, so the limit is that of the orderer, not gRPC's default of 4 MiB. */
const MESSAGE_MAX_BYTES = 128 * 1024 * 1024;
/** HTTP/2 flow-control window: responses of many concurrent calls, each a whole transaction. */
const WINDOW_BYTES = 16 * 1024 * 1024;

const CHANNEL_OPTIONS: ClientOptions = {
  // Fabric peers close connections of clients that ping more often than once a minute.
  'grpc.keepalive_time_ms': 120_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.max_receive_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_send_message_length': MESSAGE_MAX_BYTES,
  'grpc-node.flow_control_window': WINDOW_BYTES,
  // Retries are decided by this library, not by gRPC.
  'grpc.enable_retries': 0,
  // Unused per-call bookkeeping, and a DNS TXT query per connection.
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  // Retries name resolution soon; the default is 30 s.
  'grpc.dns_min_time_between_resolutions_ms': 2000,
  // Each client has its own connection, so that one made with new TLS files does not reuse the old connection.
  'grpc.use_local_subchannel_pool': 1,
};

/** The TLS material of a peer. */
export interface PeerTls {
  /** PEM. */
  readonly ca: Buffer;
  /** When the last of its authorities expires. */
  readonly caExpiresAtMs: number;
  /** Our client certificate, if the peer requires one: PEM, and the certificate alone in DER. */
  readonly client?: { readonly cert: Buffer; readonly key: Buffer; readonly der: Buffer };
}

/** A client of one peer, for calls and streams. Used by the gateway client and `submit-request.ts`. */
export function peerClient(
  { endpoint, serverNameOverride }: Pick<FabricPeer, 'endpoint' | 'serverNameOverride'>,
  tls: PeerTls | undefined,
): Client {
  const security =
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(tls.ca, tls.client?.key ?? null, tls.client?.cert ?? null);
  const override = serverNameOverride === undefined ? {} : { 'grpc.ssl_target_name_override': serverNameOverride };
  const client = new Client(endpoint, security, { ...CHANNEL_OPTIONS, ...override });
  const call = client.makeUnaryRequest.bind(client) as UnaryCall;
  const correctedCall: UnaryCall = (...[method, serialize, deserialize, argument, options, callback]) =>
    call(method, serialize, deserialize, argument, options, (error, answer) =>
      callback(error === null ? null : corrected(error), answer),
    );
  return Object.assign(client, { makeUnaryRequest: correctedCall as Client['makeUnaryRequest'] });
}

/** The overload of grpc-js's unary call that the gateway client uses. */
type UnaryCall = (
  ...args: [
    method: string,
    serialize: (value: unknown) => Buffer,
    deserialize: (bytes: Buffer) => unknown,
    argument: unknown,
    options: object,
    callback: (error: ServiceError | null, answer?: unknown) => void,
  ]
) => unknown;

/**
 * HTTP statuses of a proxy, the reset INADEQUATE_SECURITY and a success without a message, as worded by grpc-js: it
 * maps them to codes that look like the peer's own refusal, although a Submit that ended so may have been ordered.
 */
const TRANSPORT_ERRORS = /^(Received HTTP status code|Protocol not secure enough|No message received)/;
const REFUSALS: ReadonlySet<status> = new Set([status.PERMISSION_DENIED, status.UNAUTHENTICATED, status.UNIMPLEMENTED]);
const DETAILS = 'grpc-status-details-bin';

function corrected(error: ServiceError): ServiceError {
  // Without grpc-js's own prefix, `14 UNAVAILABLE: `.
  error.message = error.details;
  const isKnown = status[error.code] !== undefined;
  if (!isKnown || (REFUSALS.has(error.code) && TRANSPORT_ERRORS.test(error.details))) error.code = status.UNKNOWN;
  // The gateway client would throw an uncatchable exception. Code and message are sufficient without the details.
  if (!error.metadata.get(DETAILS).every(isReadable)) error.metadata.remove(DETAILS);
  return error;
}

function isReadable(value: Buffer | string): boolean {
  try {
    const details = google.rpc.Status.deserializeBinary(Buffer.from(value)).getDetailsList();
    for (const detail of details) protos.ErrorDetail.deserializeBinary(detail.getValue_asU8());
    return true;
  } catch {
    return false;
  }
}
