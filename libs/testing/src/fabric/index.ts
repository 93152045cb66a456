export type {
  ActiveFault,
  CallFault,
  CallKind,
  CallStatus,
  ErrorDetail,
  FaultRegister,
  FaultScope,
  FaultyCall,
  VerdictFault,
} from './faults.ts';
export type {
  ChaincodeOptions,
  ChannelView,
  ClientIdentity,
  CommittedTransaction,
  FurtherPeer,
  StandInPeer,
  StandInPeerOptions,
} from './stand-in-types.ts';
export { startStandInPeer } from './start-stand-in-peer.ts';
export { connectClient, type ConnectedClient, type PeerAddress } from '@sealgate/local-services/fabric';
export { connectionFileOf } from './connection-file.ts';
export { certificateAuthority, type Authority, type Certified, type IssueOptions } from './certificates.ts';
export { chaincodeGreeting, type GreetingTls } from './chaincode-greeting.ts';
export type { Contract, GatewayError } from '@hyperledger/fabric-gateway';
