export { cursorCodec, type CursorCodec } from './cursor-codec.ts';
export { allPages, EXPORT_FORMATS, EXPORT_TYPES, exportText, type ExportFormat } from './export-text.ts';
export {
  tableList,
  type ListCondition,
  type Listed,
  type ListOrder,
  type ListPosition,
  type ListWhere,
  type OrderColumn,
  type TableList,
} from './list-table.ts';
export { parseLimit } from './parse-limit.ts';
export type { ListShards } from './sharded-page.ts';
export { foldText, isFound, searchOf, searchText, type Search } from './search.ts';
export { sortingOf, sortText, sortValues, type Sorting } from './sorting.ts';
export { COUNT_LIMIT, totalOf, type Total } from './totals.ts';
