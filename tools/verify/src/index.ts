export { checkReceipt } from './check-receipt.ts';
export { runCli } from './cli.ts';
export { pinnedKey } from './pinned-key.ts';
export { readReceiptFile } from './receipt-file.ts';
