export type { ClientIdentity, FurtherPeer, StandInPeer, StandInPeerOptions } from './stand-in-types.ts';
export { startStandInPeer } from './start-stand-in-peer.ts';
export { connectClient, type ConnectedClient, type PeerAddress } from '@sealgate/local-services/fabric';
export { connectionFileOf } from './connection-file.ts';
export { certificateAuthority, type IssueOptions } from './certificates.ts';
export { chaincodeGreeting } from './chaincode-greeting.ts';
export type { Contract, GatewayError } from '@hyperledger/fabric-gateway';
