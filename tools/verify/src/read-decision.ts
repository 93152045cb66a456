import type { ChainedDecision, DecisionHead } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import {
  hasMember,
  listAt,
  numberAt,
  type Place,
  rootObject,
  stringAt,
  stringOrNullAt,
  stringsAt,
  UnreadableError,
  valueAt,
} from './shape.ts';

/** A value, and where it is. */
interface Stated {
  readonly where: string;
  readonly value: JsonValue;
}

/** A line of the decision log; `hash` is null if a version without chains wrote it. */
export type LoggedLine = ChainedDecision & { readonly hash: string | null };

/** @throws UnreadableError for a line of another format. */
export function readDecision({ where, value }: Stated): LoggedLine {
  const place = rootObject(where, value);
  const decision = stringAt(place, 'decision');
  const seq = numberAt(place, 'seq');
  if (!Number.isSafeInteger(seq) || seq < 1) throw new UnreadableError(`${where} has a seq that counts nothing.`);
  return {
    action: stringAt(place, 'action'),
    // The line is hashed as it is.
    decision: decision as 'allow' | 'deny',
    decision_id: stringAt(place, 'decision_id'),
    environment: stringAt(place, 'environment'),
    evaluated_at: stringAt(place, 'evaluated_at'),
    fail_closed: valueAt(place, 'fail_closed') as boolean,
    key_id: stringAt(place, 'key_id'),
    ledger_record_id: stringOrNullAt(place, 'ledger_record_id'),
    policy_version: stringOrNullAt(place, 'policy_version'),
    process: stringAt(place, 'process'),
    reason_codes: stringsAt(place, 'reason_codes'),
    record_version: valueAt(place, 'record_version') as number | null,
    request_id: stringAt(place, 'request_id'),
    seq,
    subject_ref: stringOrNullAt(place, 'subject_ref'),
    venue_id: stringOrNullAt(place, 'venue_id'),
    hash: stringOrNullAt(place, 'hash'),
  };
}

/** The head in the `data` of its record. @throws UnreadableError. */
export function headIn(place: Place): DecisionHead {
  if (numberAt(place, 'v') !== 1) throw new UnreadableError(`${place.where} is a head of another version.`);
  return {
    v: 1,
    process: stringAt(place, 'process'),
    number: numberAt(place, 'number'),
    first_seq: numberAt(place, 'first_seq'),
    last_seq: numberAt(place, 'last_seq'),
    prev_hash: stringOrNullAt(place, 'prev_hash'),
    hash: stringOrNullAt(place, 'hash'),
    dropped: listAt(place, 'dropped').map((value, index) => {
      const each = rootObject(`${place.where}/dropped/${index}`, value);
      return {
        first_seq: numberAt(each, 'first_seq'),
        last_seq: numberAt(each, 'last_seq'),
        hash: stringAt(each, 'hash'),
      };
    }),
    at: stringAt(place, 'at'),
    ended: hasMember(place, 'ended') && valueAt(place, 'ended') === true,
  };
}
