import { readFileSync } from 'node:fs';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash, type Contract } from '@hyperledger/fabric-gateway';
import { IdentityFiles, readConnectionFile } from '@sealgate/ledger-fabric';

const maxMessageBytes = 100 * 1024 * 1024;

/** The records contract by Fabric's own client, as its guide shows, with a signer of node:crypto, as the ledger peer's. */
export function openContract(connectionFile: string, fabricChannel: string): { contract: Contract; close: () => void } {
  const { peers, identities } = readConnectionFile(connectionFile);
  const peer = peers[0]!;
  const client = new Client(peer.endpoint, credentials.createSsl(readFileSync(peer.tlsCaFile ?? '')), {
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    'grpc.ssl_target_name_override': peer.serverNameOverride ?? '',
  });
  const files = new IdentityFiles({ source: identities[0]!, now: Date.now, onProblem: () => undefined });
  const { mspId, certificate, sign } = files.current()!;
  const gateway = connect({
    client,
    identity: { mspId, credentials: certificate },
    hash: hash.none,
    signer: (message) => Promise.resolve(sign(message)),
  });
  return {
    contract: gateway.getNetwork(fabricChannel).getContract('records'),
    close: () => {
      gateway.close();
      client.close();
    },
  };
}
