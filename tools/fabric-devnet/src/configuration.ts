import { join } from 'node:path';
import type { NetworkPlan, OrdererPlan, OrganizationPlan } from './network-plan.ts';

/** The only profile: channels differ only in their name and in the approved contracts. */
export const channelProfile = 'Channel';

/** A JSON string is valid as a double-quoted YAML scalar. */
const quoted = (text: string): string => JSON.stringify(text);

/** `configtx.yaml`, from which `configtxgen` creates the genesis block of a channel. */
export function configtx(plan: NetworkPlan): string {
  const { orderer, organizations, settings } = plan;
  return `# Genesis block of each channel. Members read and write; changes need a majority of the admins.
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
        # The orderer rejects a larger transaction; below gRPC's message limit.
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
        # Committing a contract definition needs both organisations, whatever the contract's own policy is.
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
          # How peers of the other organisation discover this one: without it no gateway knows both endorsers.
          AnchorPeers:
            - { Host: 127.0.0.1, Port: ${peer.port} }`;

/** Configuration of `cryptogen generate`: CAs, nodes and users of each organisation. */
export function cryptoConfig({ orderer, organizations }: NetworkPlan): string {
  const peers = organizations.map(
    ({ name, domain }) => `
  - Name: ${name}
    Domain: ${domain}
    EnableNodeOUs: true
    Specs:
      - Hostname: peer
        SANS: *loopback
      # Only its TLS certificate is used, as the server certificate of the contract processes.
      - Hostname: contract
        SANS: *loopback
    Users:
      Count: 1`,
  );
  return `# Everything listens on loopback, so all certificates are issued for it.
OrdererOrgs:
  - Name: orderer
    Domain: ${orderer.domain}
    # The certificate's OU holds the role, so that policies can require a peer or a client of an organisation.
    EnableNodeOUs: true
    Specs:
      - Hostname: orderer
        SANS: &loopback [localhost, 127.0.0.1]
PeerOrgs:${peers.join('')}
`;
}

/** `core.yaml` of a peer, read from FABRIC_CFG_PATH; the `peer` command also reads it as a client. */
export function coreYaml(organization: OrganizationPlan, plan: NetworkPlan): string {
  return `${peerSection(organization, plan)}
vm:
  # No Docker: contracts run as services. Unset, so that the peer's health check does not require it.
  endpoint: ''
chaincode:
  mode: net
  externalBuilders:
    - name: contract-as-a-service
      path: ${quoted(plan.folders.builder)}
  installTimeout: 30s
  startuptimeout: 30s
  executetimeout: 30s
  system: { _lifecycle: enable, cscc: enable, lscc: enable, qscc: enable }
  logging: { level: info, shim: warning }
ledger:
  state:
    stateDatabase: goleveldb
    totalQueryLimit: 100000
  history:
    # The contract answers the versions of a record from it.
    enableHistoryDatabase: true
  snapshots:
    rootDir: ${quoted(join(organization.peer.stateFolder, 'snapshots'))}
operations:
  # Health and metrics, which hold nothing secret: plain HTTP that never leaves this machine.
  listenAddress: 127.0.0.1:${organization.peer.operationsPort}
  tls: { enabled: false }
metrics:
  provider: prometheus
`;
}

function peerSection({ name, mspId, peer }: OrganizationPlan, { settings, organizations }: NetworkPlan): string {
  const { tls } = peer;
  const clientCas = organizations.map((organization) => quoted(organization.peer.tls.caFile)).join(', ');
  return `peer:
  id: peer.${name}
  networkId: sealgate-devnet
  listenAddress: 127.0.0.1:${peer.port}
  address: 127.0.0.1:${peer.port}
  chaincodeListenAddress: 127.0.0.1:${peer.chaincodePort}
  chaincodeAddress: 127.0.0.1:${peer.chaincodePort}
  localMspId: ${mspId}
  mspConfigPath: ${quoted(peer.mspFolder)}
  fileSystemPath: ${quoted(peer.stateFolder)}
  gateway:
    enabled: true
    endorsementTimeout: 30s
    broadcastTimeout: 30s
    # On one machine a node accepts at once or is down; Fabric's default is two minutes.
    dialTimeout: 3s
  gossip:
    # Each organisation has one peer: it has nobody to bootstrap from, and takes blocks from the orderer itself.
    bootstrap: 127.0.0.1:${peer.port}
    endpoint: 127.0.0.1:${peer.port}
    # Without it the other organisation would not be told of this peer, and could not ask it to endorse.
    externalEndpoint: 127.0.0.1:${peer.port}
    useLeaderElection: false
    orgLeader: true
    # Shorter than Fabric's defaults, so that a stopped or restarted peer is detected within seconds.
    aliveTimeInterval: 1s
    aliveExpirationTimeout: 5s
    reconnectInterval: 2s
    publishStateInfoInterval: 1s
    requestStateInfoInterval: 1s
    state: { enabled: false }
    pvtData:
      pullRetryThreshold: 5s
      transientstoreMaxBlockRetention: 1000
      pushAckTimeout: 3s
      btlPullMargin: 10
      reconcileBatchSize: 10
      reconcileSleepInterval: 1m
      reconciliationEnabled: true
  tls:
    enabled: true
    clientAuthRequired: ${settings.mutualTls === true}
    clientRootCAs: { files: [${clientCas}] }
    # Read by the \`peer\` command as a client; a peer shows its own certificate to others.
    clientCert: { file: ${quoted(tls.certFile)} }
    clientKey: { file: ${quoted(tls.keyFile)} }
    cert: { file: ${quoted(tls.certFile)} }
    key: { file: ${quoted(tls.keyFile)} }
    rootcert: { file: ${quoted(tls.caFile)} }
  authentication: { timewindow: 15m }
  BCCSP:
    Default: SW
    SW: { Hash: SHA2, Security: 256 }
  client: { connTimeout: 3s }
  deliveryclient:
    # Reconnects to a restarted orderer within this time; Fabric's default is an hour.
    reconnectBackoffThreshold: 1s
    connTimeout: 3s
  handlers:
    authFilters: [{ name: DefaultAuth }, { name: ExpirationCheck }]
    decorators: [{ name: DefaultDecorator }]
    endorsers: { escc: { name: DefaultEndorsement } }
    validators: { vscc: { name: DefaultValidation } }
  discovery:
    enabled: true
    authCacheEnabled: true
    authCacheMaxSize: 1000
    authCachePurgeRetentionRatio: 0.75
    orgMembersAllowedAccess: false
  limits:
    # Fabric's defaults, so that clients get the same rejections as elsewhere.
    concurrency: { endorserService: 2500, deliverService: 2500, gatewayService: 500 }
  maxRecvMsgSize: 104857600
  maxSendMsgSize: 104857600`;
}

/** `orderer.yaml` of the orderer, read from FABRIC_CFG_PATH. */
export function ordererYaml({ tls, adminTls, ...orderer }: OrdererPlan): string {
  return `General:
  ListenAddress: 127.0.0.1
  ListenPort: ${orderer.port}
  TLS:
    Enabled: true
    Certificate: ${quoted(tls.certFile)}
    PrivateKey: ${quoted(tls.keyFile)}
    RootCAs: [${quoted(tls.caFile)}]
    ClientAuthRequired: false
  Cluster:
    # Orderers know each other by these certificates; they are the ones named in the channel's consenters.
    ClientCertificate: ${quoted(tls.certFile)}
    ClientPrivateKey: ${quoted(tls.keyFile)}
  LocalMSPID: ${orderer.mspId}
  LocalMSPDir: ${quoted(orderer.mspFolder)}
  # There is no system channel: channels are joined through the admin listener, one by one.
  BootstrapMethod: none
  BCCSP:
    Default: SW
    SW: { Hash: SHA2, Security: 256 }
  Authentication:
    TimeWindow: 15m
FileLedger:
  Location: ${quoted(join(orderer.stateFolder, 'ledger'))}
Consensus:
  WALDir: ${quoted(join(orderer.stateFolder, 'raft/wal'))}
  SnapDir: ${quoted(join(orderer.stateFolder, 'raft/snapshots'))}
ChannelParticipation:
  Enabled: true
  MaxRequestBodySize: 1 MB
Admin:
  ListenAddress: 127.0.0.1:${orderer.adminPort}
  TLS:
    Enabled: true
    Certificate: ${quoted(tls.certFile)}
    PrivateKey: ${quoted(tls.keyFile)}
    # Whoever may join channels shows a certificate of the orderer's organisation.
    ClientAuthRequired: true
    ClientRootCAs: [${quoted(adminTls.caFile)}]
Operations:
  # Health and metrics, which hold nothing secret: plain HTTP that never leaves this machine.
  ListenAddress: 127.0.0.1:${orderer.operationsPort}
  TLS: { Enabled: false }
Metrics:
  Provider: prometheus
`;
}
