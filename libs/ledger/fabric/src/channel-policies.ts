import { common, msp } from '@hyperledger/fabric-protos';

type ConfigGroup = InstanceType<typeof common.ConfigGroup>;

/** `n` of the rules, or one member of an organisation in this role. */
export type TrustPolicy =
  { readonly n: number; readonly of: TrustPolicy[] } | { readonly mspId: string; readonly role: TrustRole };

export type TrustRole = 'member' | 'admin' | 'client' | 'peer' | 'orderer';

/** In the order of MSPRole.MSPRoleType. */
const ROLES: readonly TrustRole[] = ['member', 'admin', 'client', 'peer', 'orderer'];

/** A policy of a form that a trust file cannot say: identities, units, attributes. */
export class UnsupportedPolicyError extends Error {
  override readonly name = 'UnsupportedPolicyError';
}

/** Nobody satisfies it. */
const NOBODY: TrustPolicy = { n: 1, of: [] };
const MAX_DEPTH = 16;

/** The endorsement policy in the definition of a chaincode, in full. @throws UnsupportedPolicyError */
export function endorsementPolicy(validationParameter: Uint8Array, channelGroup: ConfigGroup): TrustPolicy {
  const policy = common.ApplicationPolicy.deserializeBinary(validationParameter);
  const signature = policy.getSignaturePolicy();
  if (signature !== undefined) return signaturePolicy(signature);
  const path = policy.getChannelConfigPolicyReference().split('/');
  // `/Channel/Application/Endorsement`: groups from the root, and the name of a policy in the last one.
  const [root, channel, ...names] = path;
  const name = names.pop();
  if (root !== '' || channel !== 'Channel' || name === undefined)
    throw new UnsupportedPolicyError(`The chaincode refers to the policy ${path.join('/')}.`);
  let group: ConfigGroup | undefined = channelGroup;
  for (const one of names) group = group?.getGroupsMap().get(one) as ConfigGroup | undefined;
  if (group === undefined) throw new UnsupportedPolicyError(`The channel has no policy ${path.join('/')}.`);
  return groupPolicy(group, name, 0);
}

function groupPolicy(group: ConfigGroup, name: string, depth: number): TrustPolicy {
  const policy = (
    group.getPoliciesMap().get(name) as InstanceType<typeof common.ConfigPolicy> | undefined
  )?.getPolicy();
  // Fabric rejects everything by a policy that is not there.
  if (policy === undefined || depth > MAX_DEPTH) return NOBODY;
  if (policy.getType() === common.Policy.PolicyType.SIGNATURE)
    return signaturePolicy(common.SignaturePolicyEnvelope.deserializeBinary(policy.getValue_asU8()));
  if (policy.getType() !== common.Policy.PolicyType.IMPLICIT_META)
    throw new UnsupportedPolicyError(`The policy ${name} is of an unknown type.`);
  const meta = common.ImplicitMetaPolicy.deserializeBinary(policy.getValue_asU8());
  const groups = groupsOf(group);
  const of = groups.map(([, one]) => groupPolicy(one, meta.getSubPolicy(), depth + 1));
  return { n: leastOf(meta.getRule(), of.length), of };
}

/** By their names. */
export function groupsOf(group: ConfigGroup): [string, ConfigGroup][] {
  const entries = group.getGroupsMap().getEntryList() as [string, unknown][];
  return entries.map(([name]) => [name, group.getGroupsMap().get(name) as ConfigGroup]);
}

function leastOf(rule: 0 | 1 | 2, count: number): number {
  const { ANY, ALL } = common.ImplicitMetaPolicy.Rule;
  if (rule === ANY || count === 0) return 1;
  return rule === ALL ? count : Math.floor(count / 2) + 1;
}

function signaturePolicy(envelope: InstanceType<typeof common.SignaturePolicyEnvelope>): TrustPolicy {
  const principals = envelope.getIdentitiesList();
  const ruleOf = (rule: InstanceType<typeof common.SignaturePolicy> | undefined, depth: number): TrustPolicy => {
    if (rule === undefined || depth > MAX_DEPTH) throw new UnsupportedPolicyError('The policy is empty or too deep.');
    const outOf = rule.getNOutOf();
    if (outOf === undefined) return principalOf(principals[rule.getSignedBy()]);
    return { n: outOf.getN(), of: outOf.getRulesList().map((one) => ruleOf(one, depth + 1)) };
  };
  return ruleOf(envelope.getRule(), 0);
}

function principalOf(principal: InstanceType<typeof msp.MSPPrincipal> | undefined): TrustPolicy {
  if (principal?.getPrincipalClassification() !== msp.MSPPrincipal.Classification.ROLE)
    throw new UnsupportedPolicyError('The policy names something else than roles of organisations.');
  const role = msp.MSPRole.deserializeBinary(principal.getPrincipal_asU8());
  return { mspId: role.getMspIdentifier(), role: ROLES[role.getRole()]! };
}
