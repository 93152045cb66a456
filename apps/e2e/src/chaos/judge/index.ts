export type { Verdict } from './check.ts';
export { judge } from './judge.ts';
export type { LedgerRecord } from './ledger-records.ts';
export { verdictTable } from './verdict-table.ts';
