export {
  caseGate,
  caseGateAdmin,
  consoleServer,
  ingestGateway,
  ingestGatewayAdmin,
  ledgerPeer,
  ledgerPeerAdmin,
  riskPartner,
  riskPartnerAdmin,
  type ClientOptions,
  type Schemas,
} from './clients.ts';
export type { Problem, ProblemFault } from './problem.ts';
