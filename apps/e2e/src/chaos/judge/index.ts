export type { Verdict } from './check.ts';
export { judge } from './judge.ts';
export { verdictTable } from './verdict-table.ts';
