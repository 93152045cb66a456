/** Why a peer, a channel or a contract cannot be used: a closed set, each with a sentence for people. */
export const FABRIC_REASONS = {
  identity_unusable: 'the certificate or the key of this service cannot be used',
  identity_retired: 'the identity that was to sign is listed in retired of the connection file',
  identity_refused: 'the channel rejects this identity: its MSP id or its certificate is unknown there',
  journal_away: 'the database of the journal does not answer',
  dns_failed: 'the host name of the peer cannot be resolved',
  connection_refused: 'nobody listens at the port of the peer',
  tls_files_unusable: 'the TLS files for the peer cannot be read',
  tls_not_spoken: 'the peer does not speak TLS at this port',
  tls_ca_wrong: 'the TLS certificate of the peer is not issued by the certificate authority in tlsCaFile',
  tls_ca_expired: 'the certificate authority in tlsCaFile has expired',
  tls_certificate_expired: 'the TLS certificate of the peer has expired',
  tls_host_name_wrong: 'the TLS certificate of the peer is for another host name',
  tls_client_certificate_required: 'the peer requires a client certificate: tlsCertFile and tlsKeyFile',
  tls_client_certificate_refused: 'the peer rejects the client certificate in tlsCertFile',
  no_answer: 'no gateway peer answers',
  not_a_gateway: 'the endpoint is not a gateway peer',
  channel_missing: 'the gateway peer has not joined the channel',
  // Also what an endorsing peer says about a channel that it has not joined.
  contract_missing: 'no peer that is asked knows the contract on this channel',
  function_missing: 'the chaincode has no contract of that name, or the contract no such transaction',
  contract_away: 'the contract does not answer',
  endorsers_away: 'the peers of an organisation that must endorse, or that has the private data, cannot be reached',
  peers_behind: 'every peer that answers lacks a block with a write that was acknowledged',
  call_refused: 'the network refuses the call',
} as const;

export type FabricReason = keyof typeof FABRIC_REASONS;

/**
 * Connection failures as worded by grpc-js, in order of precedence. TLS alerts about certificates concern ours; the
 * caller knows whether one was sent (RFC 8446 section 6.2: a server that requires one and gets none sends
 * certificate_required, with TLS 1.2 bad_certificate or handshake_failure).
 */
const CONNECTION_WORDS: readonly (readonly [RegExp, FabricReason])[] = [
  [/^Name resolution failed|ENOTFOUND|EAI_AGAIN/, 'dns_failed'],
  [/ECONNREFUSED/, 'connection_refused'],
  [/ERR_TLS_CERT_ALTNAME_INVALID/, 'tls_host_name_wrong'],
  [/Last error: Error: certificate has expired/, 'tls_certificate_expired'],
  [
    /alert (certificate required|bad certificate|unknown ca|certificate unknown|certificate expired|handshake failure)/,
    'tls_client_certificate_required',
  ],
  [/wrong version number|packet length too long|http request/, 'tls_not_spoken'],
  [
    /unable to verify|unable to get (local )?issuer|self-signed certificate|certificate signature failure|certificate not trusted/,
    'tls_ca_wrong',
  ],
];

const NO_CONNECTION = /^(No connection established|Name resolution failed)/;

/** The reason of a call that reached no peer. */
export function connectionReason(message: string): FabricReason {
  if (!NO_CONNECTION.test(message)) return 'no_answer';
  return CONNECTION_WORDS.find(([words]) => words.test(message))?.[1] ?? 'no_answer';
}
