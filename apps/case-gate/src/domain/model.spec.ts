import { describe, expect, it } from '@jest/globals';
import { schemaJson } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import { changeOf, Time } from '../schemas.ts';
import { changedRecord, type RecordOf } from './model.ts';

const Door = Type.Object({ name: Type.String({ maxLength: 9 }), closes_at: Type.Optional(Time) });
type Door = RecordOf<typeof Door>;
const open: Door = { name: 'North' };
const closing: Door = { name: 'North', closes_at: '2026-02-03T04:05:06.007Z' };

describe('a change', () => {
  it('may omit every member, and may be null only for an optional one', () => {
    expect(schemaJson(changeOf(Door))).toEqual({
      type: 'object',
      additionalProperties: false,
      properties: {
        name: { type: 'string', maxLength: 9 },
        closes_at: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
      },
    });
  });

  it('sets an optional member, and null removes it', () => {
    expect(changedRecord(Door, open, { closes_at: '2026-02-03T06:05:06.007+02:00' })).toEqual(closing);
    expect(changedRecord(Door, closing, { closes_at: null })).toEqual(open);
  });

  it.each<[string, Door, object]>([
    ['is empty', closing, {}],
    ['repeats a value', closing, { name: 'North' }],
    ['repeats a time in another form', closing, { closes_at: '2026-02-03T06:05:06.007+02:00' }],
    ['removes what is not there', open, { closes_at: null }],
  ])('that %s leaves the record as it is', (_what, record, change) => {
    expect(changedRecord(Door, record, change)).toBe(record);
  });
});
