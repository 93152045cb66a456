import { CATALOGUE } from './catalogue.ts';

/** Codes of single items in a 200 response of the ledger peer. Never the code of a problem document. */
export const ITEM_CODES = {
  NOT_ATTEMPTED: {
    title: 'The item was not attempted',
    description: 'An earlier failure ended the request before this item was sent. It is always safe to send it again.',
  },
} as const;

/** A code of a problem document. */
export type ErrorCode = keyof typeof CATALOGUE;

/** A code of a single batch item. */
export type ItemCode = ErrorCode | keyof typeof ITEM_CODES;

/** Every code, in catalogue order. The cast restores the type that `Object.keys` loses. */
export const ERROR_CODES = Object.keys(CATALOGUE) as readonly ErrorCode[];
