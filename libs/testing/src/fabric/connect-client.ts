import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash, signers, type ConnectOptions, type Gateway } from '@hyperledger/fabric-gateway';
import type { ClientIdentity } from './stand-in-types.ts';

const HUNDRED_MEBIBYTES = 100 * 1024 * 1024;

/** Where a gateway peer is, and as whom to speak to it: a stand-in, or any other. */
export interface PeerAddress {
  readonly url: string;
  readonly tlsCaFile: string | undefined;
  readonly identity: ClientIdentity;
  /** The name in the peer's TLS certificate where it is not the host of the url. */
  readonly tlsName?: string;
}

export interface ConnectedClient {
  readonly gateway: Gateway;
  close(): void;
}

/** The SDK's own client with its own signer, as anybody would use it. */
export function connectClient(
  { url, tlsCaFile, identity, tlsName }: PeerAddress,
  options: Pick<ConnectOptions, 'evaluateOptions' | 'endorseOptions' | 'submitOptions' | 'commitStatusOptions'> = {},
): ConnectedClient {
  const channel =
    tlsCaFile === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(tlsCaFile));
  const client = new Client(url, channel, {
    // As much as peers send: an endorsed transaction holds what it writes more than once.
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
