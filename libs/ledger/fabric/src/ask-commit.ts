import type { Status } from '@hyperledger/fabric-gateway';
import { gateway as protos, msp } from '@hyperledger/fabric-protos';
import type { PeerGateway } from './gateway-peers.ts';

/**
 * Asks a peer for the status of a transaction; waits at the peer until it is in a block, or for the deadline. The request
 * is made anew from channel and id each time, and signed by the identity of today: one that was signed before a
 * certificate was rotated would no longer be answered.
 *
 * @throws GatewayError; whatever it says, the outcome is as unknown as before.
 */
export function askCommit(
  peer: PeerGateway,
  { channel, transactionId }: { readonly channel: string; readonly transactionId: string },
  withinMs: number,
): Promise<Status> {
  const { mspId, certificate } = peer.identity;
  const creator = new msp.SerializedIdentity();
  creator.setMspid(mspId);
  creator.setIdBytes(certificate);
  const request = new protos.CommitStatusRequest();
  request.setChannelId(channel);
  request.setTransactionId(transactionId);
  request.setIdentity(creator.serializeBinary());
  const signed = new protos.SignedCommitStatusRequest();
  signed.setRequest(request.serializeBinary());
  return peer.gateway.newCommit(signed.serializeBinary()).getStatus({ deadline: Date.now() + withinMs });
}
