import type { ReactNode } from 'react';
import { phrase } from '../../shell/phrase.ts';

export const isLargerThan256MiB = (name: string) =>
  `${name} is larger than 256 MiB: compare its SHA-256 with another tool.`;
export const cannotBeRead = (name: string) => `${name} cannot be read.`;
export const isTheFile = (name: string, member: string) =>
  `${name} is the file whose fingerprint was written (${member}).`;
export const others = (count: number) => `${count} others`;
export const isAnotherFile = (name: string, signed: ReactNode, sha256: string) =>
  `${name} is another file. Signed: ${signed}; your file: ${sha256}.`;
export const checkThisFile = 'Check this file';
export const checkThisFileHint =
  'It is hashed in this browser, compared with the fingerprint that was written, and sent nowhere.';
export const drawingLabel = 'The proof, from the signature down to the content';
export const signature = 'Signature';
export const signatureHint = (entries: string) =>
  `The checkpoint of ${entries}, against the pinned key. A checkpoint signs the log as it was then: what was written later is under later ones.`;
export const entries = (count: number, shown: string) => `${shown} ${count === 1 ? 'entry' : 'entries'}`;
export const root = 'Root';
export const computed = 'computed';
export const signed = 'signed';
export const pathOf = (hashes: string) => `Path of ${hashes}`;
export const hashes = (count: number, shown: string) => `${shown} ${count === 1 ? 'hash' : 'hashes'}`;
export const eachHashOnTheWayUp = 'Each hash on the way up';
export const withLeft = 'with left';
export const withRight = 'with right';
export const gives = 'gives';
export const leaf = (index: string) => `Leaf ${index}`;
export const inTheLog = 'in the log';
export const ofTheReceipt = 'of the receipt';
export const content = 'Content';
export const erased = 'erased';
export const dataHash = 'data hash';
export const useThisLedgersPublishedKeys = 'Use this ledger’s published keys';
export const publishedHint = (where: ReactNode): ReactNode =>
  phrase`This ledger publishes its keys at ${where}. Taken from here, they show that nobody else changed your file; whoever runs this site could publish any key. To be sure of them as well, compare with a key that you have from elsewhere.`;
export const copyTheTimeAsItWasWritten = 'Copy the time as it was written';
export const copied = 'Copied';
export const theBrowserRefusedToCopy = 'The browser refused to copy';
export const verified = 'Verified.';
export const notVerified = 'Not verified.';
export const where = 'where';
export const expected = 'expected';
export const found = 'found';
export const holds = 'Holds';
export const fails = 'Fails';
export const notChecked = 'Not checked';
export const whichMemberWasChanged =
  'Which member was changed, a hash does not tell. Drop the content as you know it beside this file: whichever of the two was written, the members that differ are named.';
export const whatWasDecided = 'What was decided';
export const whatTheFileSaysWasDecided = 'What the file says was decided';
export const decisionChainHint = (count: string, lastSeq: string) =>
  `Each decision has a hash over itself and the one before it. By ${count} more this one leads to the hash of decision ${lastSeq}, which is in the ledger.`;
export const aRecordAndItsProof = 'A record and its proof';
export const aStandAloneProof = 'A stand-alone proof';
export const anAnswerToAWrite = 'An answer to a write, and its proof';
export const aCheckpoint = 'A checkpoint';
export const twoCheckpointsOfOneLog = 'Two checkpoints of one log';
export const aDecisionOfTheGate = 'A decision of the gate';
export const aDeclaredLoss = 'A declared loss';
export const aPartnerEnvelope = 'A partner envelope';
export const aRecordOnFabricAndItsProof = 'A record on Fabric and its proof';
export const anEligibilityRecord = 'An eligibility record';
export const anAssessorPack = 'An assessor pack';
export const aDeliveryAndItsRecord = 'A delivery and its record';
export const aSignedDocument = 'A signed document';
export const aKeySet = 'A key set';
export const aPolicyOfWitnesses = 'A policy of witnesses';
export const theTrustFileOfAFabric = 'The trust file of a Fabric channel';
export const notCheckedYet = 'Not checked yet';
export const tooManyFiles = (most: number) =>
  `Only ${most} files are checked at once. It was not read: drop it by itself.`;
export const fileTooLarge = (megabytes: string, most: number) =>
  `The file has ${megabytes} MB; proofs, envelopes and packs have at most ${most} MiB. It was not read.`;
export const fileUnreadable = 'It cannot be read: it may be a folder, or deleted.';
export const checkAgainWithTheseKeys = 'Check again with these keys';
export const whatYouTrust = 'What you trust';
export const keyOfTheLog = 'Key of the log';
export const keyOfTheLogHint =
  'As name+id+key, one per line. A key that comes with what it judges proves nothing: take it from where you trust it.';
export const moreKeysAndSignatures =
  'For witnesses, envelopes, packs, signed documents and deliveries: more keys, and signatures';
export const policyLabel = 'Policy (tlog-policy): logs, and witnesses that have to cosign; it may be dropped as a file';
export const keySetLabel = 'Key set (JWKS); it may be dropped as a file';
export const signatureLabel = 'Signature: Evidence-Signature of an envelope, or of another document';
export const senderKeysLabel = 'Public keys of senders of webhooks (whpk_...), one per line';
export const dropFilesHere = 'Drop files here, or choose them';
export const dropFilesHint =
  'A proof (also a tlog-proof file), checkpoint, declaration, envelope, eligibility record or pack; with a proof, the answer to the write or the content; with a delivery, its record; two checkpoints with what connects them. Nothing leaves this page.';
export const keysAreTrustedNow = 'Its keys are trusted now for envelopes, packs and signed documents.';
export const policyIsUsedNow = 'Every checkpoint now needs the cosignatures that it asks for.';
export const organisationsAreTrustedNow = 'Its organisations are trusted now for proofs of records on Fabric.';
export const saveThisPageAsOneFile = 'Save this page as one file';
export const lookUpInPublicLog = 'look a record up in a public log';
export const verifyIntro =
  'Somebody gave you a proof: here your own browser checks that what it is about was written to the ledger when it says, and was not changed since. Nothing that you open leaves this page.';
export const saveOrLookUp = (save: ReactNode, log: ReactNode): ReactNode =>
  phrase`${save} to do the same from a disk, without a network, or ${log}.`;
export const saveToCheckOffline = (save: ReactNode): ReactNode =>
  phrase`${save} to do the same from a disk, without a network.`;
export const verify = 'Verify';
export const keysOfSurface = (surface: string) => `/admin/v1/ledger/keys of the ${surface}`;
export const openTheProofFirst = 'Open the proof first: it names the log.';
export const aRecordOfType = (type: string) => `A record of type ${type}`;
export const theFileTellsOfARecord = (type: string) => `The file tells of a record of type ${type}`;
export const inChannelWrittenAt = (channel: string, at: ReactNode): ReactNode => phrase`in ${channel}, written ${at}`;
export const whatWasWritten = 'What was written';
export const whatTheFileSaysWasWritten = 'What the file says was written';
export const record = 'Record';
export const type = 'Type';
export const owner = 'Owner';
export const channel = 'Channel';
export const writtenAt = 'Written at';
export const transaction = 'Transaction';
export const copyTheTransaction = 'Copy the transaction';
export const contentIsNotWhatWasWritten = 'The content in your file, which is not what was written';
export const itsContent = 'Its content';
export const contentWasErased = 'It was erased: something was written then, and nobody can tell any more what.';
export const contentIsNotInProof =
  'It is not in this proof. Drop the content, or a proof that was saved with it, to see and check it.';
export const besideIt = 'Beside it';
export const value = 'value';
export const and = 'and';
export const moreMembers = (count: string) => `${count} more members`;
export const changedMembers = 'Changed members';
export const signedAndFound = (signed: string, found: string) => `signed: ${signed}; in your file: ${found}`;
export const nothing = 'nothing';
