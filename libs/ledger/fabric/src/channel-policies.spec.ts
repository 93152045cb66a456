import { describe, expect, it } from '@jest/globals';
import { common, msp } from '@hyperledger/fabric-protos';
import { endorsementPolicy, UnsupportedPolicyError } from './channel-policies.ts';

const { Policy } = common;

function principal(mspId: string, role: number): InstanceType<typeof msp.MSPPrincipal> {
  const made = new msp.MSPRole();
  made.setMspIdentifier(mspId);
  made.setRole(role as 0);
  const one = new msp.MSPPrincipal();
  one.setPrincipalClassification(msp.MSPPrincipal.Classification.ROLE);
  one.setPrincipal(made.serializeBinary());
  return one;
}

/** `n` of the principals. */
function signaturePolicy(n: number, ...principals: readonly InstanceType<typeof msp.MSPPrincipal>[]) {
  const outOf = new common.SignaturePolicy.NOutOf();
  outOf.setN(n);
  for (const index of principals.keys()) {
    const rule = new common.SignaturePolicy();
    rule.setSignedBy(index);
    outOf.addRules(rule);
  }
  const rule = new common.SignaturePolicy();
  rule.setNOutOf(outOf);
  const envelope = new common.SignaturePolicyEnvelope();
  envelope.setRule(rule);
  envelope.setIdentitiesList([...principals]);
  return envelope;
}

function withPolicy(group: InstanceType<typeof common.ConfigGroup>, type: 1 | 3, value: Uint8Array) {
  const policy = new Policy();
  policy.setType(type);
  policy.setValue(value);
  const wrapped = new common.ConfigPolicy();
  wrapped.setPolicy(policy);
  group.getPoliciesMap().set('Endorsement', wrapped);
  return group;
}

/** A channel of organisations, with an implicit policy over theirs; one of them without its own. */
function channelOf(rule: 0 | 1 | 2, ...mspIds: readonly string[]) {
  const meta = new common.ImplicitMetaPolicy();
  meta.setSubPolicy('Endorsement');
  meta.setRule(rule);
  const application = withPolicy(new common.ConfigGroup(), Policy.PolicyType.IMPLICIT_META, meta.serializeBinary());
  for (const mspId of mspIds) {
    const own = new common.ConfigGroup();
    const policy = signaturePolicy(1, principal(mspId, 3)).serializeBinary();
    const group = mspId === '' ? own : withPolicy(own, Policy.PolicyType.SIGNATURE, policy);
    application.getGroupsMap().set(mspId || 'Nobody', group);
  }
  const channel = new common.ConfigGroup();
  channel.getGroupsMap().set('Application', application);
  return channel;
}

function reference(path: string): Uint8Array {
  const policy = new common.ApplicationPolicy();
  policy.setChannelConfigPolicyReference(path);
  return policy.serializeBinary();
}

function own(policy: InstanceType<typeof common.SignaturePolicyEnvelope>): Uint8Array {
  const application = new common.ApplicationPolicy();
  application.setSignaturePolicy(policy);
  return application.serializeBinary();
}

const peerOf = (mspId: string) => ({ n: 1, of: [{ mspId, role: 'peer' }] });
const none = new common.ConfigGroup();

describe('the endorsement policy of a chaincode', () => {
  it('is the one of its definition, with the roles of members', () => {
    const policy = signaturePolicy(2, ...[0, 1, 2, 3, 4].map((role) => principal('AMSP', role)));
    expect(endorsementPolicy(own(policy), none)).toEqual({
      n: 2,
      of: ['member', 'admin', 'client', 'peer', 'orderer'].map((role) => ({ mspId: 'AMSP', role })),
    });
  });

  it.each([
    ['ANY', 0, 1],
    ['ALL', 1, 3],
    ['MAJORITY', 2, 2],
  ] as const)('is that of the channel that it refers to: %s of three', (_name, rule, n) => {
    const policy = endorsementPolicy(reference('/Channel/Application/Endorsement'), channelOf(rule, 'A', 'B', 'C'));
    expect(policy).toEqual({ n, of: ['A', 'B', 'C'].map(peerOf) });
  });

  it('is a majority of more than half', () => {
    const policy = endorsementPolicy(reference('/Channel/Application/Endorsement'), channelOf(2, 'A', 'B'));
    expect(policy).toMatchObject({ n: 2 });
  });

  it('is satisfied by nobody for an organisation without a policy, and for a policy that is not there', () => {
    const nobody = { n: 1, of: [] };
    const policy = endorsementPolicy(reference('/Channel/Application/Endorsement'), channelOf(1, 'A', ''));
    expect(policy).toEqual({ n: 2, of: expect.arrayContaining([peerOf('A'), nobody]) });
    expect(endorsementPolicy(reference('/Channel/Application/Other'), channelOf(1, 'A'))).toEqual(nobody);
  });

  it('is not guessed if it names something else than roles, or a group that is not there', () => {
    const odd = new msp.MSPPrincipal();
    odd.setPrincipalClassification(msp.MSPPrincipal.Classification.IDENTITY);
    expect(() => endorsementPolicy(own(signaturePolicy(1, odd)), none)).toThrow(UnsupportedPolicyError);
    expect(() => endorsementPolicy(reference('/Channel/Nowhere/Endorsement'), none)).toThrow(UnsupportedPolicyError);
    expect(() => endorsementPolicy(reference('Endorsement'), none)).toThrow(UnsupportedPolicyError);
  });
});
