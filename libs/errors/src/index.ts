export { CATALOGUE } from './catalogue.ts';
export { catalogueTable } from './catalogue-table.ts';
export { ITEM_CODES, type ErrorCode, type ItemCode } from './error-code.ts';
export { AppError, refusedMember, type Fault } from './app-error.ts';
export { PROBLEM_MEDIA_TYPE, problemOf, problemType, type Problem } from './problem.ts';
