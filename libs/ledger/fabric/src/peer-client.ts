import { Client, credentials, status, type ClientOptions, type ServiceError } from '@grpc/grpc-js';
import { gateway as protos, google } from '@hyperledger/fabric-protos';
import type { FabricPeer } from './connection-file.ts';

/** A message holds a whole transaction, so the limit is that of the orderer and not gRPC's own 4 MiB. */
const MESSAGE_MAX_BYTES = 128 * 1024 * 1024;
/** What a peer may send before it hears from us: answers of many calls at once, each a whole transaction. */
const WINDOW_BYTES = 16 * 1024 * 1024;

const CHANNEL_OPTIONS: ClientOptions = {
  // Fabric peers hang up on clients that ping more often than once a minute.
  'grpc.keepalive_time_ms': 120_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.max_receive_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_send_message_length': MESSAGE_MAX_BYTES,
  'grpc-node.flow_control_window': WINDOW_BYTES,
  // What is sent again, and when, is decided here and not by gRPC.
  'grpc.enable_retries': 0,
  // Bookkeeping per call, and a DNS TXT query per connection, that nobody here reads.
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  // A name that can be resolved again is asked for soon; the default is 30 s.
  'grpc.dns_min_time_between_resolutions_ms': 2000,
  // Each client has its own connection, so that one made with new TLS files does not get the old connection.
  'grpc.use_local_subchannel_pool': 1,
};

/** TLS as the files of a peer say. */
export interface PeerTls {
  /** PEM. */
  readonly ca: Buffer;
  /** When the last of the authorities in it expires. */
  readonly caExpiresAtMs: number;
  /** Ours, where the peer wants one. PEM, and the certificate alone in DER. */
  readonly client?: { readonly cert: Buffer; readonly key: Buffer; readonly der: Buffer };
}

/** A client of one peer, for calls and streams. The gateway client and `submit-request.ts` call through it. */
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
  const mendedCall: UnaryCall = (...[method, serialize, deserialize, argument, options, callback]) =>
    call(method, serialize, deserialize, argument, options, (error, answer) =>
      callback(error === null ? null : mended(error), answer),
    );
  return Object.assign(client, { makeUnaryRequest: mendedCall as Client['makeUnaryRequest'] });
}

/** Of the overloads of a unary call in grpc-js, the one that the gateway client uses. */
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
 * HTTP statuses of a proxy, the reset INADEQUATE_SECURITY and a success without a message, as grpc-js words them: it gives
 * them codes that read as the peer's own refusal, and a Submit that ended so may have been ordered.
 */
const NOT_OF_THE_PEER = /^(Received HTTP status code|Protocol not secure enough|No message received)/;
const REFUSALS: ReadonlySet<status> = new Set([status.PERMISSION_DENIED, status.UNAUTHENTICATED, status.UNIMPLEMENTED]);
const DETAILS = 'grpc-status-details-bin';

function mended(error: ServiceError): ServiceError {
  // Without grpc-js's own prefix, `14 UNAVAILABLE: `.
  error.message = error.details;
  const isKnown = status[error.code] !== undefined;
  if (!isKnown || (REFUSALS.has(error.code) && NOT_OF_THE_PEER.test(error.details))) error.code = status.UNKNOWN;
  // The gateway client would throw where nobody can catch it. Code and message say what is to be done without it.
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
