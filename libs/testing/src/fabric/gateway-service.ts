import { gateway, type peer } from '@hyperledger/fabric-protos';
import type { CallRunner, CallSubject } from './call-runner.ts';
import { chaincodeEvents } from './chaincode-events.ts';
import type { PeerParts } from './peer-parts.ts';
import { endorse, evaluate, processProposal } from './process-proposal.ts';
import { Code, RpcError } from './rpc-error.ts';
import { parseProposal, type ParsedProposal } from './signed-request.ts';
import { commitStatus, submit } from './submit-envelope.ts';

type SignedProposal = InstanceType<typeof peer.SignedProposal>;
type SubmitRequest = InstanceType<typeof gateway.SubmitRequest>;
type SignedCommitStatusRequest = InstanceType<typeof gateway.SignedCommitStatusRequest>;

/** The four unary calls of the gateway and its event stream. */
export function gatewayService(parts: PeerParts, runner: CallRunner) {
  return {
    evaluate: runner.unary<InstanceType<typeof gateway.EvaluateRequest>, InstanceType<typeof gateway.EvaluateResponse>>(
      {
        kind: 'evaluate',
        subject: (request) => proposalSubject(request.getProposedTransaction()),
        perform: (request) =>
          evaluate(parts, read(request.getProposedTransaction()), request.getTargetOrganizationsList()),
        // As observed on a peer of version 2.5: the deadline reaches its endorser as a cancellation.
        onDeadline: { code: Code.CANCELLED, message: 'evaluate call to endorser returned error: context canceled' },
      },
    ),
    endorse: runner.unary<InstanceType<typeof gateway.EndorseRequest>, InstanceType<typeof gateway.EndorseResponse>>({
      kind: 'endorse',
      subject: (request) => proposalSubject(request.getProposedTransaction()),
      perform: (request) =>
        endorse(parts, read(request.getProposedTransaction()), request.getEndorsingOrganizationsList()),
      onDeadline: {
        code: Code.DEADLINE_EXCEEDED,
        message: 'endorsement timeout expired while collecting first endorsement',
      },
    }),
    submit: runner.unary<SubmitRequest, InstanceType<typeof gateway.SubmitResponse>>({
      kind: 'submit',
      subject: (request) => ({
        channel: request.getChannelId(),
        transactionId: request.getTransactionId(),
        chaincode: '',
      }),
      perform: async (request) => submit(parts, request),
      onDeadline: {
        code: Code.DEADLINE_EXCEEDED,
        message: 'submit timeout expired while broadcasting to ordering service',
      },
    }),
    commitStatus: runner.unary<SignedCommitStatusRequest, InstanceType<typeof gateway.CommitStatusResponse>>({
      kind: 'commitStatus',
      subject: (request) => {
        const asked = gateway.CommitStatusRequest.deserializeBinary(request.getRequest_asU8());
        return { channel: asked.getChannelId(), transactionId: asked.getTransactionId(), chaincode: '' };
      },
      perform: (request, signal) => commitStatus(parts, request, signal),
      onDeadline: { code: Code.DEADLINE_EXCEEDED, message: 'context deadline exceeded' },
    }),
    chaincodeEvents: chaincodeEvents(parts, runner.peer),
  };
}

/** What a peer serves beside its gateway: proposals to itself. */
export function endorserService(parts: PeerParts, runner: CallRunner) {
  return {
    processProposal: runner.unary<SignedProposal, InstanceType<typeof peer.ProposalResponse>>({
      kind: 'evaluate',
      subject: proposalSubject,
      perform: async (signed) => processProposal(parts, read(signed)),
      onDeadline: { code: Code.DEADLINE_EXCEEDED, message: 'context deadline exceeded' },
    }),
  };
}

function read(signed: SignedProposal | undefined): ParsedProposal {
  try {
    return parseProposal(signed!);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RpcError({ code: Code.INVALID_ARGUMENT, message: `failed to unpack transaction proposal: ${reason}` });
  }
}

function proposalSubject(signed: SignedProposal | undefined): CallSubject {
  const { channel, transactionId, chaincode } = read(signed);
  return { channel, transactionId, chaincode };
}
