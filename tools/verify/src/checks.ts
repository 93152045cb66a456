// What checks one document and needs neither files nor a command line: for pages that check in the browser.
export { checkAnswer } from './check-answer.ts';
export { checkCheckpoint } from './check-checkpoint.ts';
export { checkEnvelope, envelopeIn } from './check-envelope.ts';
export { checkPack } from './check-pack.ts';
export { checkReceipt } from './check-receipt.ts';
export { jointVerifier, verifierFrom } from './given-keys.ts';
export { readKeySet } from './key-set.ts';
export { readPackFile } from './pack-file.ts';
export { parseJson } from './parse-json.ts';
export { readReceiptFile } from './receipt-file.ts';
export type { ReceiptFile } from './receipt-file.ts';
export type { Report, Step, StepStatus } from './report.ts';
export { UnreadableError } from './unreadable-error.ts';
export { readWriteAnswer } from './write-answer.ts';
