import { common, msp } from '@hyperledger/fabric-protos';

/** An organisation of a channel: its MSP id, and the certificates of its authorities (PEM). */
export interface ChannelOrganization {
  readonly mspId: string;
  readonly root: string;
}

/** By the units of certificates, as `cryptogen` and Fabric's CA write them. */
const ROLES = { peer: 'peer', client: 'client', admin: 'admin', orderer: 'orderer' } as const;
const N_OUT_OF_1 = 1;

/** A serialized ConfigEnvelope: the organisations with their MSPs, and the policy MAJORITY Endorsement of their peers. */
export function channelConfig(organizations: readonly ChannelOrganization[]): Uint8Array {
  const application = new common.ConfigGroup();
  for (const organization of organizations) {
    const group = new common.ConfigGroup();
    group.getValuesMap().set('MSP', configValue(mspConfig(organization).serializeBinary()));
    group.getPoliciesMap().set('Endorsement', signatureConfigPolicy(onePeerOf(organization.mspId)));
    application.getGroupsMap().set(organization.mspId, group);
  }
  application.getPoliciesMap().set('Endorsement', majorityOf('Endorsement'));
  const channelGroup = new common.ConfigGroup();
  channelGroup.getGroupsMap().set('Application', application);
  const config = new common.Config();
  config.setChannelGroup(channelGroup);
  const envelope = new common.ConfigEnvelope();
  envelope.setConfig(config);
  return envelope.serializeBinary();
}

/** A serialized ApplicationPolicy: a peer of this organisation, which is what the stand-in checks. */
export function validationPolicy(mspId: string): Uint8Array {
  const policy = new common.ApplicationPolicy();
  policy.setSignaturePolicy(onePeerOf(mspId));
  return policy.serializeBinary();
}

function configValue(value: Uint8Array) {
  const wrapped = new common.ConfigValue();
  wrapped.setValue(value);
  return wrapped;
}

function configPolicy(type: 1 | 3, value: Uint8Array) {
  const policy = new common.Policy();
  policy.setType(type);
  policy.setValue(value);
  const wrapped = new common.ConfigPolicy();
  wrapped.setPolicy(policy);
  return wrapped;
}

const signatureConfigPolicy = (policy: InstanceType<typeof common.SignaturePolicyEnvelope>) =>
  configPolicy(common.Policy.PolicyType.SIGNATURE, policy.serializeBinary());

function majorityOf(subPolicy: string) {
  const policy = new common.ImplicitMetaPolicy();
  policy.setRule(common.ImplicitMetaPolicy.Rule.MAJORITY);
  policy.setSubPolicy(subPolicy);
  return configPolicy(common.Policy.PolicyType.IMPLICIT_META, policy.serializeBinary());
}

function onePeerOf(mspId: string) {
  const role = new msp.MSPRole();
  role.setMspIdentifier(mspId);
  role.setRole(msp.MSPRole.MSPRoleType.PEER);
  const principal = new msp.MSPPrincipal();
  principal.setPrincipalClassification(msp.MSPPrincipal.Classification.ROLE);
  principal.setPrincipal(role.serializeBinary());
  const signedBy = new common.SignaturePolicy();
  signedBy.setSignedBy(0);
  const outOf = new common.SignaturePolicy.NOutOf();
  outOf.setN(N_OUT_OF_1);
  outOf.setRulesList([signedBy]);
  const rule = new common.SignaturePolicy();
  rule.setNOutOf(outOf);
  const envelope = new common.SignaturePolicyEnvelope();
  envelope.setRule(rule);
  envelope.setIdentitiesList([principal]);
  return envelope;
}

function mspConfig({ mspId, root }: ChannelOrganization) {
  const fabric = new msp.FabricMSPConfig();
  fabric.setName(mspId);
  fabric.setRootCertsList([Buffer.from(root)]);
  const units = new msp.FabricNodeOUs();
  units.setEnable(true);
  const unit = (name: string) => {
    const identifier = new msp.FabricOUIdentifier();
    identifier.setOrganizationalUnitIdentifier(name);
    return identifier;
  };
  units.setPeerOuIdentifier(unit(ROLES.peer));
  units.setClientOuIdentifier(unit(ROLES.client));
  units.setAdminOuIdentifier(unit(ROLES.admin));
  units.setOrdererOuIdentifier(unit(ROLES.orderer));
  fabric.setFabricNodeOus(units);
  const config = new msp.MSPConfig();
  config.setConfig(fabric.serializeBinary());
  return config;
}
