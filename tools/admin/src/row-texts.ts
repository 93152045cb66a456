import { isObject, type JsonObject, textOf } from './json-object.ts';
import { cellText, type Format, printable } from './row-table.ts';

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
