import { generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Client, credentials } from '@grpc/grpc-js';
import { connect, hash } from '@hyperledger/fabric-gateway';
import { common, gateway as protos, msp, peer } from '@hyperledger/fabric-protos';
import fc from 'fast-check';
import type { ContractCall } from './contract-call.ts';
import type { FabricIdentity } from './identity-files.ts';
import { signLowS } from './native-signer.ts';
import { signProposal } from './proposal.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const certificate = Buffer.from('-----BEGIN CERTIFICATE-----');
const serialized = new msp.SerializedIdentity();
serialized.setMspid('NorthMSP');
serialized.setIdBytes(certificate);
const identity: FabricIdentity = {
  mspId: 'NorthMSP',
  certificate,
  creator: Buffer.from(serialized.serializeBinary()),
  sign: (message) => signLowS(privateKey, message),
};
const nowMs = Date.parse('2026-01-02T03:04:05.678Z');

const gateway = connect({
  client: new Client('127.0.0.1:1', credentials.createInsecure()),
  identity: { mspId: 'NorthMSP', credentials: certificate },
  hash: hash.none,
});

/** What the gateway client proposes for the same call, as objects. */
function proposedByLibrary({ channel, chaincode, contract, ...call }: ContractCall) {
  const proposal = gateway
    .getNetwork(channel)
    .getContract(chaincode, contract)
    .newProposal(call.transaction, {
      arguments: [...call.args],
      transientData: { ...call.transient },
      endorsingOrganizations: [...(call.endorsingOrganizations ?? [])],
    });
  return peer.Proposal.deserializeBinary(
    protos.ProposedTransaction.deserializeBinary(proposal.getBytes()).getProposal()!.getProposalBytes_asU8(),
  );
}

/** All of a proposal but for what is new in each: the nonce, the transaction's id and the time. */
function meaningOf(proposal: InstanceType<typeof peer.Proposal>) {
  const header = common.Header.deserializeBinary(proposal.getHeader_asU8());
  const channel = common.ChannelHeader.deserializeBinary(header.getChannelHeader_asU8());
  const extension = peer.ChaincodeHeaderExtension.deserializeBinary(channel.getExtension_asU8());
  const payload = peer.ChaincodeProposalPayload.deserializeBinary(proposal.getPayload_asU8());
  const input = peer.ChaincodeInvocationSpec.deserializeBinary(payload.getInput_asU8());
  return {
    channel: { ...channel.toObject(), txId: '', timestamp: undefined, extension: extension.toObject() },
    creator: common.SignatureHeader.deserializeBinary(header.getSignatureHeader_asU8()).getCreator_asB64(),
    input: input.toObject(),
    transient: [...payload.getTransientmapMap().toObject()].sort(),
  };
}

const text = fc.string({ unit: 'binary', maxLength: 200 }).map((value) => value.toWellFormed());
const bytes = fc.uint8Array({ maxLength: 200 });
const calls: fc.Arbitrary<ContractCall> = fc.record(
  {
    channel: fc.stringMatching(/^[a-z][a-z0-9.-]{0,248}$/),
    chaincode: fc.stringMatching(/^[A-Za-z0-9_-]{1,200}$/),
    contract: fc.constantFrom('', 'assets', 'Verträge'),
    transaction: text,
    args: fc.array(fc.oneof(text, bytes), { maxLength: 5 }),
    transient: fc.dictionary(fc.stringMatching(/^[a-z]{1,10}$/), fc.oneof(text, bytes), { noNullPrototype: true }),
    endorsingOrganizations: fc.array(fc.stringMatching(/^[A-Za-z]{1,60}$/), { maxLength: 4 }),
  },
  { requiredKeys: ['channel', 'chaincode', 'transaction', 'args'] },
);

describe('a proposal', () => {
  it('is what the gateway client would propose for the same call', () => {
    fc.assert(
      fc.property(calls, (call) => {
        const { request, transactionId } = signProposal(call, identity, nowMs);
        const read = protos.EndorseRequest.deserializeBinary(request);
        const signed = read.getProposedTransaction()!;
        expect(meaningOf(peer.Proposal.deserializeBinary(signed.getProposalBytes_asU8()))).toEqual(
          meaningOf(proposedByLibrary(call)),
        );
        expect(read.getTransactionId()).toBe(transactionId);
        expect(read.getChannelId()).toBe(call.channel);
        expect(read.getEndorsingOrganizationsList()).toEqual(call.endorsingOrganizations ?? []);
        const asEvaluation = protos.EvaluateRequest.deserializeBinary(request);
        expect(asEvaluation.getTargetOrganizationsList()).toEqual(call.endorsingOrganizations ?? []);
        expect(verify('sha256', signed.getProposalBytes_asU8(), publicKey, signed.getSignature_asU8())).toBe(true);
      }),
    );
  });

  it('has an id made from its nonce and its signer, and the time of its making', () => {
    const call = { channel: 'main', chaincode: 'records', transaction: 'read', args: [] };
    const { request, transactionId } = signProposal(call, identity, nowMs);
    const proposal = peer.Proposal.deserializeBinary(
      protos.EndorseRequest.deserializeBinary(request).getProposedTransaction()!.getProposalBytes_asU8(),
    );
    const header = common.Header.deserializeBinary(proposal.getHeader_asU8());
    const channel = common.ChannelHeader.deserializeBinary(header.getChannelHeader_asU8());
    const nonce = common.SignatureHeader.deserializeBinary(header.getSignatureHeader_asU8()).getNonce_asU8();
    expect(nonce).toHaveLength(24);
    expect(Buffer.from(hash.sha256(Buffer.concat([nonce, identity.creator]))).toString('hex')).toBe(transactionId);
    expect(channel.getTxId()).toBe(transactionId);
    expect(channel.getTimestamp()!.toDate().getTime()).toBe(nowMs);
  });

  it('never has the id of another one', () => {
    const call = { channel: 'main', chaincode: 'records', transaction: 'read', args: [] };
    const ids = Array.from({ length: 1000 }, () => signProposal(call, identity, nowMs).transactionId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
