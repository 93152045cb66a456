export { CATALOGUE } from './catalogue.ts';
export { ERROR_CODES, ITEM_CODES, type CatalogueEntry, type ErrorCode, type ItemCode } from './error-code.ts';
export { AppError, type AppErrorOptions, type Fault } from './app-error.ts';
export { PROBLEM_MEDIA_TYPE, problemOf, problemType, type Problem } from './problem.ts';
export { catalogueTable } from './catalogue-table.ts';
