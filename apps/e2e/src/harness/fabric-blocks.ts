import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash, signers } from '@hyperledger/fabric-gateway';
import { common, peer } from '@hyperledger/fabric-protos';
import type { FabricAccess } from './fabric-network.ts';

/** A transaction as it is in a block. */
export interface BlockTransaction {
  readonly transactionId: string;
  readonly block: number;
  readonly valid: boolean;
  readonly chaincode: string;
  /** The name of the transaction function, then its arguments. */
  readonly args: readonly string[];
}

const ENDORSER_TRANSACTION = 3;
const VALIDITY_FLAGS = 2;
const VALID = 0;

/**
 * Every endorsed transaction of a channel, decoded from its blocks by Fabric's own client and messages. None of our code
 * is involved, so it can judge that code.
 */
export async function readBlocks(access: FabricAccess, channel: string): Promise<BlockTransaction[]> {
  const [first] = access.peers;
  const client = new Client(
    first!.endpoint,
    credentials.createSsl(readFileSync(first!.tlsCaFile!)),
    first!.serverNameOverride === undefined ? {} : { 'grpc.ssl_target_name_override': first!.serverNameOverride },
  );
  const gateway = connect({
    client,
    identity: { mspId: access.mspId, credentials: readFileSync(access.certFile) },
    signer: signers.newPrivateKeySigner(createPrivateKey(readFileSync(access.keyFile))),
    hash: hash.sha256,
  });
  try {
    const network = gateway.getNetwork(channel);
    const info = await network.getContract('qscc').evaluateTransaction('GetChainInfo', channel);
    const height = common.BlockchainInfo.deserializeBinary(info).getHeight();
    const found: BlockTransaction[] = [];
    const blocks = await network.getBlockEvents({ startBlock: 0n });
    for await (const block of blocks) {
      found.push(...transactionsOf(block));
      if (Number(block.getHeader()!.getNumber()) >= height - 1) break;
    }
    blocks.close();
    return found;
  } finally {
    gateway.close();
    client.close();
  }
}

function transactionsOf(block: InstanceType<typeof common.Block>): BlockTransaction[] {
  const flags = block.getMetadata()!.getMetadataList_asU8()[VALIDITY_FLAGS]!;
  const number = Number(block.getHeader()!.getNumber());
  return block
    .getData()!
    .getDataList_asU8()
    .flatMap((bytes, place) => {
      const payload = common.Payload.deserializeBinary(common.Envelope.deserializeBinary(bytes).getPayload_asU8());
      const header = common.ChannelHeader.deserializeBinary(payload.getHeader()!.getChannelHeader_asU8());
      if (header.getType() !== ENDORSER_TRANSACTION) return [];
      const [action] = peer.Transaction.deserializeBinary(payload.getData_asU8()).getActionsList();
      const proposed = peer.ChaincodeActionPayload.deserializeBinary(action!.getPayload_asU8());
      const input = peer.ChaincodeProposalPayload.deserializeBinary(proposed.getChaincodeProposalPayload_asU8());
      const spec = peer.ChaincodeInvocationSpec.deserializeBinary(input.getInput_asU8()).getChaincodeSpec()!;
      return {
        transactionId: header.getTxId(),
        block: number,
        valid: flags[place] === VALID,
        chaincode: spec.getChaincodeId()!.getName(),
        args: spec
          .getInput()!
          .getArgsList_asU8()
          .map((arg) => Buffer.from(arg).toString('utf8')),
      };
    });
}
