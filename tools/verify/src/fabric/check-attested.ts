import { Bytes } from '@sealgate/json';
import type { Reporter } from '../report.ts';
import { signatureFault } from './ecdsa.ts';
import {
  type Proposal,
  readEndorsement,
  readIdentity,
  readProposal,
  readResponsePayload,
  type ResponsePayload,
  type SignedCall,
} from './fabric-messages.ts';
import { identify, isSatisfied, type Member, policyText } from './member.ts';
import type { AttestedCall } from './proof-file.ts';
import type { ChannelTrust, EndorsementPolicy } from './trust-file.ts';
import { MalformedMessageError } from './wire-message.ts';

/** The call that the peers must have been asked. */
export interface ExpectedCall {
  /** For people: `view`, `statement`. */
  readonly name: string;
  readonly channel: string;
  readonly chaincode: string;
  /** Whether these are the arguments, the function first; undefined: they are. Otherwise what is expected. */
  readonly expected: (args: readonly string[]) => string | undefined;
}

export interface AttestedAnswer {
  readonly proposal: Proposal;
  readonly response: ResponsePayload;
  readonly signers: readonly Member[];
}

const OK = 200;

/** Parses a message; a malformed one fails the step. */
export function parsed<Message>(
  report: Reporter,
  { step, where }: { readonly step: string; readonly where: string },
  read: () => Message,
): Message | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error;
    report.failed(step, { detail: `${error.message}.`, where });
    return undefined;
  }
}

/**
 * Checks a call that peers signed: what was asked, by whom, that all sign the same answer to it, and that those who sign
 * it are the members that the policy wants. Undefined if the answer cannot be read.
 */
export async function checkAttested(
  report: Reporter,
  { trust, policy }: { readonly trust: ChannelTrust; readonly policy: EndorsementPolicy | undefined },
  call: AttestedCall,
  asked: ExpectedCall,
): Promise<AttestedAnswer | undefined> {
  const where = `${call.where}/proposal`;
  const proposal = parsed(report, { step: 'proposal', where }, () => readProposal(call.proposal));
  if (proposal === undefined) return undefined;
  checkProposal(report, where, proposal, asked);
  await checkCreator(report, { trust, where, what: `The ${asked.name}` }, proposal);
  const response = checkPayloads(report, call, proposal, asked);
  const signers = await checkSigners(report, { trust, name: asked.name, atMs: proposal.header.atMs }, call);
  if (policy !== undefined) {
    const text = policyText(policy);
    if (isSatisfied(policy, signers)) report.ok('policy', `The signers of the ${asked.name} satisfy ${text}.`);
    else
      report.failed('policy', {
        detail: `The signers of the ${asked.name} do not satisfy the endorsement policy of the chaincode.`,
        where: `${call.where}/responses`,
        expected: text,
        found: signers.map(({ mspId, role = 'member' }) => `${mspId}.${role}`).join(', ') || 'nobody',
      });
  }
  return response === undefined ? undefined : { proposal, response, signers };
}

function checkProposal(
  report: Reporter,
  where: string,
  { header, chaincode, args }: Proposal,
  asked: ExpectedCall,
): void {
  report.equal('channel', {
    ok: `The ${asked.name} was asked in the channel ${asked.channel}.`,
    failed: `The ${asked.name} was asked in another channel.`,
    where,
    expected: asked.channel,
    found: header.channel,
  });
  const texts = args.map((arg) => arg.toString('utf8'));
  const expected = chaincode === asked.chaincode ? asked.expected(texts) : `a call of ${asked.chaincode}`;
  if (expected === undefined) report.ok('proposal', `The peers were asked ${texts[0]} of ${chaincode}.`);
  else
    report.failed('proposal', {
      detail: `The peers were asked something else for the ${asked.name}.`,
      where,
      expected,
      found: `${chaincode} ${texts.join(' ')}`,
    });
}

/** Who asked, or who submitted: a member of a trusted organisation, who signed it. */
export async function checkCreator(
  report: Reporter,
  { trust, where, what }: { readonly trust: ChannelTrust; readonly where: string; readonly what: string },
  { header, signed, signature }: SignedCall,
): Promise<Member | undefined> {
  const creator = await identified(trust, header.creator);
  if ('problem' in creator) {
    report.failed('creator', { detail: `${what} is by an unknown creator: ${creator.problem}.`, where });
    return undefined;
  }
  const fault = await signatureFault(creator.certificate, new Uint8Array(signed), signature);
  const by = `${creator.certificate.subject} of ${creator.mspId}`;
  if (fault === undefined) report.ok('creator', `${what} is by ${by}.`);
  else report.failed('creator', { detail: `The signature of ${by} is ${fault}.`, where });
  return creator;
}

async function identified(trust: ChannelTrust, identity: Bytes): ReturnType<typeof identify> {
  try {
    return await identify(trust, identity);
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error;
    return { problem: error.message };
  }
}

function checkPayloads(
  report: Reporter,
  { where, responses }: AttestedCall,
  proposal: Proposal,
  { name, chaincode }: ExpectedCall,
): ResponsePayload | undefined {
  const [first] = responses;
  const place = { step: 'payload', where: `${where}/responses/0/payload` };
  if (first === undefined) {
    report.failed('payload', { detail: `No peer answered the ${name}.`, where: `${where}/responses` });
    return undefined;
  }
  const response = parsed(report, place, () => readResponsePayload(first.payload));
  if (response === undefined) return undefined;
  const other = responses.find(({ payload }) => !payload.equals(first.payload));
  if (other !== undefined)
    report.failed('payload', { detail: `The peers signed different answers to the ${name}.`, where: other.where });
  const faults = [
    ...(response.proposalHash === proposal.hash ? [] : ['to another proposal']),
    ...(response.chaincode === chaincode ? [] : [`of the chaincode ${response.chaincode}`]),
    ...(response.status === OK ? [] : [`with the status ${response.status}`]),
  ];
  if (faults.length > 0)
    report.failed('payload', { detail: `The answer to the ${name} is ${faults.join(', ')}.`, where: place.where });
  else if (other === undefined) report.ok('payload', `All signed the same answer to the ${name}.`);
  return response;
}

async function checkSigners(
  report: Reporter,
  { trust, name, atMs }: { readonly trust: ChannelTrust; readonly name: string; readonly atMs: number },
  { responses }: AttestedCall,
): Promise<Member[]> {
  const signers: Member[] = [];
  for (const { where, mspId, payload, endorsement: bytes } of responses) {
    const endorsement = parsed(report, { step: 'signature', where }, () => {
      const read = readEndorsement(bytes);
      return { ...read, claims: readIdentity(read.endorser).mspId };
    });
    if (endorsement === undefined) continue;
    if (endorsement.claims !== mspId) {
      const detail = 'The endorsement is of another organisation than is written beside it.';
      report.failed('signature', { detail, where, expected: mspId, found: endorsement.claims });
      continue;
    }
    const signer = await identified(trust, endorsement.endorser);
    if ('problem' in signer) {
      report.failed('certificate', { detail: `A signer of the ${name} is not known: ${signer.problem}.`, where });
      continue;
    }
    const signed = Bytes.concat([payload, endorsement.endorser]);
    const fault = await signatureFault(signer.certificate, new Uint8Array(signed), endorsement.signature);
    if (checkSigner(report, { where, name, atMs }, signer, fault)) signers.push(signer);
  }
  return signers;
}

/** Whether it counts for the policy. */
function checkSigner(
  report: Reporter,
  { where, name, atMs }: { readonly where: string; readonly name: string; readonly atMs: number },
  { mspId, certificate, revoked }: Member,
  fault: string | undefined,
): boolean {
  const who = `${certificate.subject} of ${mspId}`;
  if (fault !== undefined) {
    report.failed('signature', { detail: `The signature of ${who} over the ${name} is ${fault}.`, where });
    return false;
  }
  if (revoked.length > 0) {
    report.failed('revocation', { detail: `The certificate of ${revoked.join(', ')} of ${mspId} is revoked.`, where });
    return false;
  }
  // Its time is the word of who asked; peers do not check it.
  if (atMs < certificate.notBeforeMs || atMs > certificate.notAfterMs) {
    report.failed('certificate', {
      detail: `The certificate of ${who} was not valid when the ${name} was asked.`,
      where,
      expected: `${timeText(certificate.notBeforeMs)} to ${timeText(certificate.notAfterMs)}`,
      found: timeText(atMs),
    });
    return false;
  }
  report.ok('signature', `${who} signed the ${name}.`);
  return true;
}

const timeText = (atMs: number): string => new Date(atMs).toISOString();
