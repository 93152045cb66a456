import { createPrivateKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash, signers, type ConnectOptions, type Gateway } from '@hyperledger/fabric-gateway';
import type { ClientIdentity, StandInPeer } from './stand-in-types.ts';

const HUNDRED_MEBIBYTES = 100 * 1024 * 1024;

/** Address of a gateway peer (stand-in or real) and the identity to use. */
export interface PeerAddress {
  readonly url: string;
  readonly tlsCaFile: string | undefined;
  readonly identity: ClientIdentity;
  /** The name in the peer's TLS certificate if it differs from the host of the url. */
  readonly tlsName?: string;
}

export interface ConnectedClient {
  readonly gateway: Gateway;
  close(): void;
}

/** The SDK's client with its own signer. */
export function connectClient(
  { url, tlsCaFile, identity, tlsName }: PeerAddress,
  options: Pick<ConnectOptions, 'evaluateOptions' | 'endorseOptions' | 'submitOptions' | 'commitStatusOptions'> = {},
): ConnectedClient {
  const channel =
    tlsCaFile === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(tlsCaFile));
  const client = new Client(url, channel, {
    // An endorsed transaction contains its writes more than once.
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

/**
 * Writes a connection file for the stand-in with short deadlines, whose channel `main` holds the given channels;
 * returns its path. `close` of the stand-in removes it.
 */
export function connectionFileOf(peer: StandInPeer, holds: readonly string[]): string {
  const file = join(peer.directory, `connection-${holds.join('-').replaceAll('*', 'all')}.json`);
  const { mspId, certFile, keyFile } = peer.identity;
  const tls = peer.tlsCaFile === undefined ? {} : { tlsCaFile: peer.tlsCaFile };
  const content = {
    ...{ mspId, certFile, keyFile },
    peers: [{ endpoint: peer.url, ...tls }],
    channels: [{ name: 'main', holds }],
    deadlinesMs: { evaluate: 2000, endorse: 2000, submit: 1000, commitStatus: 1000, answer: 4000 },
  };
  writeFileSync(file, JSON.stringify(content));
  return file;
}
