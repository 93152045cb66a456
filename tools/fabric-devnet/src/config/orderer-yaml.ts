import { join } from 'node:path';
import type { OrdererPlan } from '../network-plan.ts';

const quoted = (text: string): string => JSON.stringify(text);

/** The orderer's own configuration, read from `orderer.yaml` in FABRIC_CFG_PATH. */
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
