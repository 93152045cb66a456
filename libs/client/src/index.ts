export {
  caseGate,
  caseGateAdmin,
  consoleServer,
  ingestGateway,
  ingestGatewayAdmin,
  ledgerPeer,
  ledgerPeerAdmin,
  plainClient,
  provedRiskPartner,
  riskPartner,
  riskPartnerAdmin,
  type ClientOptions,
  type Routes,
  type Schemas,
} from './clients.ts';
export { InexactNumberError, type LargeIntegers } from './exact-numbers.ts';
export type { Problem, ProblemFault } from './problem.ts';
export type { Jwks } from '@sealgate/envelope';
export { itemsOf, ProblemError } from './pages.ts';
export { checkRecord, provedEnvelope, UnprovedError, type ProvedRecord } from './proved.ts';
export { NoAnswerError, type RetryPolicy } from './retrying.ts';
export {
  expressDoor,
  fastifyDoor,
  gateDoor,
  type DoorAnswer,
  type DoorOptions,
  type Visit,
  type VisitOf,
} from './door.ts';
