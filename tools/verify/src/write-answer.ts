import type { JsonValue } from '@sealgate/json';
import { epochAt } from './receipt-file.ts';
import { UnreadableError } from './unreadable-error.ts';
import { hasMember, isObject, listAt, numberAt, rootObject, stringAt } from './shape.ts';
import type { Place } from './shape.ts';

/** One entry of `records` in the answer to a write. */
export interface AnsweredRecord {
  readonly where: string;
  readonly id: string;
  readonly transactionId: string;
  readonly channel: string;
  readonly index: number;
  readonly epoch?: number;
  readonly leafHash: string;
}

/** The `records` of a write's answer. Throws UnreadableError when it is none, or comes from a ledger without a public log. */
export function readWriteAnswer(name: string, value: JsonValue): readonly AnsweredRecord[] {
  return answeredRecords(rootObject(name, value));
}

export function answeredRecords(root: Place): readonly AnsweredRecord[] {
  return listAt(root, 'records').map((record, position) => {
    const where = `${root.where}/records/${position}`;
    if (!isObject(record)) throw new UnreadableError(`${where} is not an object.`);
    const place = { where, object: record };
    if (!hasMember(place, 'index') || !hasMember(place, 'leafHash')) {
      throw new UnreadableError(
        `${where} has no index and leafHash: this ledger keeps no log that can be checked here.`,
      );
    }
    return {
      where,
      id: stringAt(place, 'id'),
      transactionId: stringAt(place, 'transactionId'),
      channel: stringAt(place, 'channel'),
      index: numberAt(place, 'index'),
      ...epochAt(place),
      leafHash: stringAt(place, 'leafHash'),
    };
  });
}
