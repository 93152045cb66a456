import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash, signers, type ConnectOptions, type Gateway } from '@hyperledger/fabric-gateway';

const HUNDRED_MEBIBYTES = 100 * 1024 * 1024;

/** A gateway peer and the identity to call it with. */
export interface PeerAddress {
  readonly url: string;
  readonly tlsCaFile: string | undefined;
  readonly identity: { readonly mspId: string; readonly certFile: string; readonly keyFile: string };
  /** The name in the peer's TLS certificate if it is not the host of the url. TLS has no IP server names (RFC 6066). */
  readonly tlsName?: string;
  /** For a peer that requires a client certificate. It is not bound to requests for blocks. */
  readonly clientTls?: { readonly certFile: string; readonly keyFile: string };
}

export interface ConnectedClient {
  readonly gateway: Gateway;
  close(): void;
}

/** Connects the Fabric SDK's own client with its own signer: independent of our driver. */
export function connectClient(
  { url, tlsCaFile, identity, tlsName, clientTls }: PeerAddress,
  options: Pick<ConnectOptions, 'evaluateOptions' | 'endorseOptions' | 'submitOptions' | 'commitStatusOptions'> = {},
): ConnectedClient {
  const channel =
    tlsCaFile === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(
          readFileSync(tlsCaFile),
          clientTls === undefined ? null : readFileSync(clientTls.keyFile),
          clientTls === undefined ? null : readFileSync(clientTls.certFile),
        );
  const client = new Client(url, channel, {
    // The limit of peers: an endorsed transaction contains what it writes more than once.
    'grpc.max_receive_message_length': HUNDRED_MEBIBYTES,
    ...(tlsName === undefined ? {} : { 'grpc.ssl_target_name_override': tlsName }),
  });
  const gateway = connect({
    client,
    identity: { mspId: identity.mspId, credentials: readFileSync(identity.certFile) },
    signer: signers.newPrivateKeySigner(createPrivateKey(readFileSync(identity.keyFile))),
    hash: hash.sha256,
    ...options,
  });
  return {
    gateway,
    close: () => {
      gateway.close();
      client.close();
    },
  };
}
