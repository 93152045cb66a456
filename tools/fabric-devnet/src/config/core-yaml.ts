import { join } from 'node:path';
import type { NetworkPlan, OrganizationPlan } from '../network-plan.ts';

const quoted = (text: string): string => JSON.stringify(text);

/** A peer's configuration, read from `core.yaml` in FABRIC_CFG_PATH; the `peer` command reads it as a client, too. */
export function coreYaml(organization: OrganizationPlan, { folders }: NetworkPlan): string {
  return `${peerSection(organization)}
vm:
  # No Docker: contracts run as services. Unset, so that the peer's health does not ask for it.
  endpoint: ''
chaincode:
  mode: net
  externalBuilders:
    - name: contract-as-a-service
      path: ${quoted(folders.builder)}
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

function peerSection({ name, mspId, peer }: OrganizationPlan): string {
  const { tls } = peer;
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
    # On one machine a node answers at once or is down; Fabric's own two minutes would only hide which.
    dialTimeout: 3s
  gossip:
    # Each organisation has one peer: it has nobody to bootstrap from, and takes blocks from the orderer itself.
    bootstrap: 127.0.0.1:${peer.port}
    endpoint: 127.0.0.1:${peer.port}
    # Without it the other organisation would not be told of this peer, and could not ask it to endorse.
    externalEndpoint: 127.0.0.1:${peer.port}
    useLeaderElection: false
    orgLeader: true
    # Shorter than Fabric's, so that a peer that was stopped is missed, and found again, within seconds.
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
    clientAuthRequired: false
    cert: { file: ${quoted(tls.certFile)} }
    key: { file: ${quoted(tls.keyFile)} }
    rootcert: { file: ${quoted(tls.caFile)} }
  authentication: { timewindow: 15m }
  BCCSP:
    Default: SW
    SW: { Hash: SHA2, Security: 256 }
  client: { connTimeout: 3s }
  deliveryclient:
    # An orderer that is back is found within this; Fabric's own is an hour.
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
    # Fabric's own, so that a client meets the same refusals here as elsewhere.
    concurrency: { endorserService: 2500, deliverService: 2500, gatewayService: 500 }
  maxRecvMsgSize: 104857600
  maxSendMsgSize: 104857600`;
}
