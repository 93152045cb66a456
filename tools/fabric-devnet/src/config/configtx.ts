import type { NetworkPlan, OrganizationPlan } from '../network-plan.ts';

/** The name of the one profile: the channels differ in nothing but their name and what is approved on them. */
export const channelProfile = 'Channel';

/** YAML's double-quoted text is a superset of JSON's. */
const quoted = (text: string): string => JSON.stringify(text);

/** What `configtxgen` makes the first block of a channel from. */
export function configtx(plan: NetworkPlan): string {
  const { orderer, organizations, settings } = plan;
  return `# The first block of each channel. Members read and write; admins of a majority change it.
Profiles:
  ${channelProfile}:
    Policies: &policies
      Readers: { Type: ImplicitMeta, Rule: ANY Readers }
      Writers: { Type: ImplicitMeta, Rule: ANY Writers }
      Admins: { Type: ImplicitMeta, Rule: MAJORITY Admins }
    # The newest that every 2.5 node knows.
    Capabilities: { V2_0: true }
    Orderer:
      OrdererType: etcdraft
      # A transaction waits at most this long for others to share its block.
      BatchTimeout: ${settings.batchTimeoutMs}ms
      BatchSize:
        MaxMessageCount: 500
        # A block is cut once it holds this much, so that peers validate one while the next is made.
        PreferredMaxBytes: 2 MB
        # One transaction above this is refused by the orderer; below gRPC's limit of a message.
        AbsoluteMaxBytes: 10 MB
      EtcdRaft:
        Consenters:
          - Host: 127.0.0.1
            Port: ${orderer.port}
            ClientTLSCert: ${quoted(orderer.tls.certFile)}
            ServerTLSCert: ${quoted(orderer.tls.certFile)}
        Options:
          # A single node has nobody to wait for: it leads again a second after its start.
          TickInterval: 100ms
          ElectionTick: 10
          HeartbeatTick: 1
          MaxInflightBlocks: 5
          SnapshotIntervalSize: 16 MB
      Organizations:
        - Name: ${orderer.mspId}
          ID: ${orderer.mspId}
          MSPDir: ${quoted(orderer.organizationMspFolder)}
          Policies:
            Readers: { Type: Signature, Rule: "OR('${orderer.mspId}.member')" }
            Writers: { Type: Signature, Rule: "OR('${orderer.mspId}.member')" }
            Admins: { Type: Signature, Rule: "OR('${orderer.mspId}.admin')" }
          OrdererEndpoints: ['127.0.0.1:${orderer.port}']
      Policies:
        <<: *policies
        BlockValidation: { Type: ImplicitMeta, Rule: ANY Writers }
      Capabilities: { V2_0: true }
    Application:
      Organizations:${organizations.map(memberOf).join('')}
      Policies:
        <<: *policies
        # Committing a contract takes both organisations, whatever the contract's own policy is.
        LifecycleEndorsement: { Type: ImplicitMeta, Rule: MAJORITY Endorsement }
        Endorsement: { Type: ImplicitMeta, Rule: MAJORITY Endorsement }
      Capabilities: { V2_5: true }
`;
}

const memberOf = ({ mspId, organizationMspFolder, peer }: OrganizationPlan): string => `
        - Name: ${mspId}
          ID: ${mspId}
          MSPDir: ${quoted(organizationMspFolder)}
          Policies:
            Readers: { Type: Signature, Rule: "OR('${mspId}.admin', '${mspId}.peer', '${mspId}.client')" }
            Writers: { Type: Signature, Rule: "OR('${mspId}.admin', '${mspId}.client')" }
            Admins: { Type: Signature, Rule: "OR('${mspId}.admin')" }
            Endorsement: { Type: Signature, Rule: "OR('${mspId}.peer')" }
          # Where peers of the other organisation find this one: without it, nobody's gateway knows both endorsers.
          AnchorPeers:
            - { Host: 127.0.0.1, Port: ${peer.port} }`;
