import { isObject, type JsonObject, textOf } from './json-object.ts';
import type { Field, Operation } from './operations.ts';
import { plain, type OptionRows } from './option-rows.ts';
import { cellText, type Format, printable } from './row-table.ts';

export const ENVIRONMENT: OptionRows = { '--environment <name>': 'the environment (default: live)' };

export const PERIOD: OptionRows = {
  '--from <time>': 'from this time, RFC 3339',
  '--to <time>': 'before this, RFC 3339',
};

export const REASON: OptionRows = { '--reason <text>': 'the reason, stored in the record and the audit log' };

export const LIMITS: OptionRows = {
  '--rate <n>': { words: 'records per second; with --burst', sets: 'limits.ratePerSecond' },
  '--burst <n>': { words: 'burst of records; with --rate', sets: 'limits.burst' },
};

export const LABEL: OptionRows = { '--label <text>': 'its purpose' };

export const EXPIRY: OptionRows = { '--expires-at <time>': 'RFC 3339, as in 2030-01-01T00:00:00Z' };

export const successorOf = (owner: string): OptionRows => ({
  '--replaces <keyId>': `the live key of this ${owner} that it replaces`,
  '--overlap-seconds <n>': 'how long the replaced key stays valid (default: 0)',
});

const PLACEHOLDERS: Readonly<Record<Field['type'], string>> = {
  string: 'text',
  time: 'time',
  integer: 'n',
  boolean: 'true|false',
  list: 'text',
  json: 'file',
};

/** The options of an operation that has none in its row: one for each parameter and member, but pages have their own. */
export function defaultOptions({ query, body = {} }: Operation, besides: readonly string[]): OptionRows {
  // A member has the same name as a parameter only if it replaces it.
  const fields = Object.entries({ ...body, ...query, ...body }).filter(
    ([name]) => ![...besides, ...PAGE].includes(name),
  );
  return Object.fromEntries(
    fields.map(([name, { type, description = `sets ${name}`, choices }]) => {
      const flag = `--${plain(name, '-')} `;
      const [known] = Object.entries(KNOWN).filter(([flags]) => flags.startsWith(flag));
      const words = choices === undefined ? description : `${description}: <choices>`;
      return known ?? [`${flag}<${PLACEHOLDERS[type]}>`, { words, sets: name }];
    }),
  );
}

/** Options in the same words for every operation that has them. */
const KNOWN: OptionRows = { ...ENVIRONMENT, ...PERIOD, ...REASON, ...LABEL, ...EXPIRY };

const PAGE = ['limit', 'cursor'];

export const limitsText: Format = (value) => {
  if (value === null) return 'default';
  if (!isObject(value)) return cellText(value);
  return `${cellText(value['ratePerSecond'])} records/s, ${cellText(value['burst'])} at once`;
};

export const networkLimitsText: Format = (value) => (value === null ? "the network's" : limitsText(value));

/** A new key for people, whose raw key no other answer has. */
export function mintedText({ rawKey, ...row }: JsonObject, keyText: (row: JsonObject) => string): string {
  return `The key was created:

  ${printable(textOf(rawKey))}

This is the only time that it is shown: put it where you keep secrets now. Nobody can show it again.

${keyText(row)}`;
}

/** For times that may never come. */
export const neverText: Format = (value) => (value === null ? 'never' : cellText(value));
