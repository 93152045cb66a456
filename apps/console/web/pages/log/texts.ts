import type { ReactNode } from 'react';
import { phrase } from '../../shell/phrase.ts';

export const isNoProofWithAReceipt = (name: string) =>
  `${name} is no proof with a receipt: open a file that was saved by “Save the proof”.`;
export const entry = 'Entry';
export const theLogHasNoSuchEntry = 'The log has no such entry';
export const theLogHasNoSuchEntryHint =
  'It may be misspelt. What was written in the last seconds is found once a checkpoint covers it.';
export const index = 'Index';
export const written = 'Written';
export const itsTimeIsInTheArchive = 'its time is in the archive';
export const leafHash = 'Leaf hash';
export const copyTheLeafHash = 'Copy the leaf hash';
export const checkedInThisBrowser =
  'Checked in this browser against the keys that this ledger publishes. The time is the ledger’s word.';
export const toSeeWhatWasWrittenAt = (link: ReactNode): ReactNode =>
  phrase`To see what was written, open your own proof of it above, or at ${link}.`;
export const verify = 'Verify';
export const publicLog = 'Public log';
export const publicLogIntro = 'Logs that everybody may read: that an entry is there, where, and since when.';
export const logs = 'Logs';
export const noLogIsPublicHere = 'No log is public here';
export const noLogIsPublicHereHint =
  'Whoever runs the ledger peer names public logs. A proof needs none: open it at Verify.';
export const publicLogs = 'Public logs';
export const logsThatYouMayRead = 'Logs that you may read';
export const leafHashFault = 'A leaf hash has 64 hexadecimal digits.';
export const noPublicLogHasAnEntry = 'No public log has an entry with this hash.';
export const searchInAllPublicLogs = 'Search in all public logs';
export const findInAllLogs = 'Find in all logs';
export const leafHashHint =
  'A receipt and its proof have it. By the id of a record, look in the log that its receipt names.';
export const copyTheCheckpoint = 'Copy the checkpoint';
export const beginsWithADeclaredLossOf = (at: ReactNode, reason: string): ReactNode =>
  phrase`Begins with a declared loss of ${at}: ${reason}`;
export const nothingIsSignedYet = 'Nothing is signed yet.';
export const itsLogIsPublic = (link: ReactNode): ReactNode => phrase`Its log is public: ${link}.`;
export const lookThisEntryUpIn = (channel: string) => `look this entry up in ${channel}`;
export const itsLogIsNotPublic = (channel: string) =>
  `Its log, ${channel}, is not public: it cannot be looked up there without a right to read it. This proof does not need that: it is checked by the key of the log alone.`;
export const youMayReadItIn = (link: ReactNode): ReactNode => phrase`You may read it ${link}.`;
export const inTheLedgerExplorer = 'in the ledger explorer';
export const theLogIsEmpty = 'The log is empty';
export const growth = 'Growth';
export const recordCount = (count: number, shown: string) => `${shown} ${count === 1 ? 'record' : 'records'}`;
export const newestAt = (at: ReactNode): ReactNode => phrase`newest ${at}`;
export const time = 'Time';
export const records = 'Records';
export const entries = 'Entries';
export const witnesses = 'Witnesses';
export const none = 'none';
export const recordId = 'Record id';
export const logIntro =
  'Everybody may see that an entry is in this log, where, and since when. What it says is shown only from your own file, which never leaves this page.';
export const isNotAPublicLog = (channel: string) => `${channel} is not a public log`;
export const notAPublicLogHint =
  'Only those who may read the ledger can look there, unless the name is misspelt. A proof of a record is checked without its log: open it at Verify.';
export const checkpoints = 'Checkpoints';
export const ledgerExplorer = 'Ledger explorer';
export const allPublicLogs = 'All public logs';
export const isTooLargeForAProof = (name: string) => `${name} is too large for a proof.`;
export const isOfTheLog = (name: string, channel: string) => `${name} is of the log ${channel}.`;
export const search = 'Search';
export const searchInTheLog = 'Search in the log';
export const lookFor = 'Look for';
export const find = 'Find';
export const findWhatMyFileProves = 'Find what my file proves';
export const searchHint = 'Exactly as it was written: no part of an id finds anything, and nothing is listed.';
export const emptySearchFault = 'Type what you look for.';
export const indexFault = 'An index is a whole number, from 0.';
export const noPublicLogIsServedHere = 'No public log is served here';
