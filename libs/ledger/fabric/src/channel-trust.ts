import { common, msp, peer } from '@hyperledger/fabric-protos';
import { blockHash } from './block-hash.ts';
import { endorsementPolicy, groupsOf, type TrustPolicy, type TrustRole } from './channel-policies.ts';
import type { FabricClient } from './fabric-client.ts';

type ConfigGroup = InstanceType<typeof common.ConfigGroup>;
type Units = Partial<Record<Exclude<TrustRole, 'member'>, { unit: string; issuer?: string }>>;

/** Whom a verifier of proofs trusts: what the configuration of a channel says of its organisations. */
export interface FabricTrust {
  readonly v: 1;
  readonly kind: 'fabric-trust';
  /** Fabric's name. */
  readonly channel: string;
  /** The block of the configuration: its number, and SHA-256 of its header. */
  readonly configBlock: { readonly number: number; readonly hash: string };
  /** By MSP id; certificates and lists are PEM. */
  readonly organizations: {
    readonly mspId: string;
    readonly roots: string[];
    readonly intermediates: string[];
    readonly revocationLists: string[];
    /** By which units certificates name roles; null: the organisation has no roles. */
    readonly units: Units | null;
  }[];
  readonly chaincodes: { readonly name: string; readonly policy: TrustPolicy }[];
}

/** MSPConfig of X.509; others (Idemix) do not endorse. */
const X509_MSP = 0;

/**
 * Reads the configuration of a channel and the policies of chaincodes from a peer. The peer is believed: compare the
 * result with what the organisations say of themselves.
 *
 * @throws as `FabricClient.evaluate`, and UnsupportedPolicyError
 */
export async function readChannelTrust(
  client: Pick<FabricClient, 'evaluate'>,
  channel: string,
  chaincodes: readonly string[],
): Promise<FabricTrust> {
  const asked = { channel, chaincode: 'cscc', transaction: 'GetConfigBlock', args: [channel] };
  const block = common.Block.deserializeBinary(await client.evaluate(asked));
  const channelGroup = configOf(block);
  const application = channelGroup.getGroupsMap().get('Application') as ConfigGroup | undefined;
  const organizations = groupsOf(application ?? new common.ConfigGroup()).flatMap(([, group]) => organizationOf(group));
  const definitions = await Promise.all(
    [...new Set(chaincodes)].toSorted().map(async (name) => {
      const args = new peer.lifecycle.QueryChaincodeDefinitionArgs();
      args.setName(name);
      const answer = await client.evaluate({
        ...{ channel, chaincode: '_lifecycle', transaction: 'QueryChaincodeDefinition' },
        args: [args.serializeBinary()],
      });
      const definition = peer.lifecycle.QueryChaincodeDefinitionResult.deserializeBinary(answer);
      return { name, policy: endorsementPolicy(definition.getValidationParameter_asU8(), channelGroup) };
    }),
  );
  const header = block.getHeader()!;
  return {
    v: 1,
    kind: 'fabric-trust',
    channel,
    configBlock: { number: header.getNumber(), hash: blockHash(header) },
    organizations: organizations.toSorted((one, other) => (one.mspId < other.mspId ? -1 : 1)),
    chaincodes: definitions,
  };
}

function configOf(block: InstanceType<typeof common.Block>): ConfigGroup {
  const [bytes] = block.getData()?.getDataList_asU8() ?? [];
  const envelope = common.Envelope.deserializeBinary(bytes ?? new Uint8Array());
  const payload = common.Payload.deserializeBinary(envelope.getPayload_asU8());
  const config = common.ConfigEnvelope.deserializeBinary(payload.getData_asU8()).getConfig();
  return config?.getChannelGroup() ?? new common.ConfigGroup();
}

function organizationOf(group: ConfigGroup): FabricTrust['organizations'] {
  const value = group.getValuesMap().get('MSP') as InstanceType<typeof common.ConfigValue> | undefined;
  const config = msp.MSPConfig.deserializeBinary(value?.getValue_asU8() ?? new Uint8Array());
  if (config.getType() !== X509_MSP) return [];
  const fabric = msp.FabricMSPConfig.deserializeBinary(config.getConfig_asU8());
  const texts = (list: readonly Uint8Array[]) => list.map((bytes) => Buffer.from(bytes).toString('utf8'));
  return [
    {
      mspId: fabric.getName(),
      roots: texts(fabric.getRootCertsList_asU8()),
      intermediates: texts(fabric.getIntermediateCertsList_asU8()),
      revocationLists: texts(fabric.getRevocationListList_asU8()),
      units: unitsOf(fabric.getFabricNodeOus()),
    },
  ];
}

function unitsOf(units: InstanceType<typeof msp.FabricNodeOUs> | undefined): Units | null {
  if (units === undefined || !units.getEnable()) return null;
  const identifiers = {
    client: units.getClientOuIdentifier(),
    peer: units.getPeerOuIdentifier(),
    admin: units.getAdminOuIdentifier(),
    orderer: units.getOrdererOuIdentifier(),
  };
  const entries = Object.entries(identifiers).flatMap(([role, identifier]) => {
    const unit = identifier?.getOrganizationalUnitIdentifier() ?? '';
    if (identifier === undefined || unit === '') return [];
    const issuer = Buffer.from(identifier.getCertificate_asU8()).toString('utf8');
    return [[role, { unit, ...(issuer === '' ? {} : { issuer }) }] as const];
  });
  return Object.fromEntries(entries);
}
