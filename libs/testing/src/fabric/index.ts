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
export { connectClient, connectionFileOf, type ConnectedClient, type PeerAddress } from './connect-client.ts';
export { certificateAuthority, type Authority, type Certified, type IssueOptions } from './certificates.ts';
export { chaincodeGreeting, type GreetingTls } from './chaincode-greeting.ts';
export type { Contract, GatewayError } from '@hyperledger/fabric-gateway';
