// Everything needed for verification, in Node and in browsers.
export { SALT_BYTES, dataHashOf, receiptEntry, receiptLeaf, receiptLogProof } from './receipt.ts';
export type { Receipt, RecordProof } from './receipt.ts';
export { isOnFabric } from './fabric-proof.ts';
export type {
  AttestedCall,
  FabricProof,
  FabricReceipt,
  ProvedInLog,
  ProvedOnFabric,
  ProvedRecord,
} from './fabric-proof.ts';
export { AUDIT_PROBLEMS, auditEventHash, auditPageText, HEAD_HASH_DIGITS, sealAuditPage } from './audit-page.ts';
export type {
  AuditEvent,
  AuditHead,
  AuditLink,
  AuditPage,
  AuditPageContent,
  AuditProblem,
  AuditQuery,
} from './audit-page.ts';
export { DECISION_HEAD_TYPE, decisionHash, decisionHeadText } from './decision-chain.ts';
export type { ChainedDecision, DecisionHead, DroppedDecisions } from './decision-chain.ts';
export { DECLARATION_TYPE, declarationLeaf, declarationText, logName, parseLogName } from './declaration.ts';
export type { Declaration, LostEntries } from './declaration.ts';
export { eligibilityBytes, isEligibilityDocument, sealEligibility } from './eligibility.ts';
export type { EligibilityDocument } from './eligibility.ts';
export { verifyDetached } from './verify-detached.ts';
export { jwkOfPoint, jwksOf } from './public-jwk.ts';
export type { Jwks, PublicJwk } from './public-jwk.ts';
export { hashedBytesOf, hasTrueHash, isPartnerEnvelope, sealPartnerEnvelope } from './partner-envelope.ts';
export type { PartnerEnvelope, PartnerEnvelopeParts } from './partner-envelope.ts';
