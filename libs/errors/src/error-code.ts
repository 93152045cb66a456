import { CATALOGUE } from './catalogue.ts';

/** Codes that stand only beside an item inside a 200 of the ledger peer, and never head a problem document. */
export const ITEM_CODES = {
  NOT_ATTEMPTED: {
    title: 'The item was not attempted',
    description: 'An earlier failure ended the request before this item was sent. It is always safe to send it again.',
  },
} as const;

export interface CatalogueEntry {
  readonly status: number;
  readonly title: string;
  readonly description: string;
}

/** A code that may head a problem document. */
export type ErrorCode = keyof typeof CATALOGUE;

/** A code that may stand beside a single item of a batch. */
export type ItemCode = ErrorCode | keyof typeof ITEM_CODES;

/** Every code in the order of the catalogue. The type is lost in `Object.keys`, which cannot know that there are no others. */
export const ERROR_CODES = Object.keys(CATALOGUE) as readonly ErrorCode[];
