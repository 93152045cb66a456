export const thereIsNoProof = 'There is no proof';
export const publishedKeysUnread = (message: string) =>
  `The published keys of the ledger could not be read (${message}) Save the proof, and check it with a key from elsewhere.`;
export const thereIsNothingToCheck = 'There is nothing to check.';
export const nothingToProve = 'Nothing was written, so there is nothing to prove.';
export const firstOfRecords = (count: number) =>
  `This is the first of ${count} records: the page of the event has all.`;
export const laterDecisionsAreInTheProof =
  'The decisions after this one are part of the proof: who gets the file reads those as well.';
export const packHasNoProof = 'The pack holds no proof of this seal.';
export const proofComesWithThePack =
  'The proof comes with the pack of the case. Each export of a pack is in the audit.';
export const namesPeersForRecord = (organizations: string, id: string, channel: string, transactionId: string) =>
  `It names peers of ${organizations}, for the record ${id} in the channel ${channel}, by the transaction ${transactionId}.`;
export const namesPeersForFile = (organizations: string, channel: string, transactionId: string) =>
  `It names peers of ${organizations}, for the record in the file in the channel ${channel}, by the transaction ${transactionId}.`;
export const peersSignedMeans =
  'Once it is checked with a trust file, it says: peers of the organisations you pinned signed that this record is in the channel, valid, by this transaction; not when, not all, not that there is no fork.';
export const thePackIsVerified = 'The pack is verified';
export const thePackIsNotVerified = 'The pack is not verified';
export const thePackWasNotCheckedHere = 'The pack was not checked here';
export const checkedInThisBrowser = 'Checked in this browser against the keys that this ledger publishes.';
export const saveTheProof = 'Save the proof';
export const saveAsTlogProof = 'Save as tlog-proof';
export const saveThePageThatChecksIt = 'Save the page that checks it';
export const linkCopied = 'Copied: the link has the proof, without the content';
export const theBrowserRefusedToCopy = 'The browser refused to copy';
export const copyALinkForAnOutsider = 'Copy a link for an outsider';
export const recordOf = (id: string, channel: string) => `record ${id} of ${channel}`;
export const event = (eventId: string) => `event ${eventId}`;
export const evidence = (title: string) => `evidence ${title}`;
export const decisionOfTheGate = (decisionId: string) => `decision of the gate ${decisionId}`;
export const theCase = (called: string) => `case ${called}`;
export const proveNamed = (what: string) => `Prove this: ${what}`;
export const proveThis = 'Prove this';
export const close = 'Close';
