import { expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import { LongText, OrNull, Text } from '../schemas.ts';
import { itemMembers } from './model.ts';

it('shows partners no free text that is not scanned for personal data', () => {
  const model = Type.Object({ id: Text, note: OrNull(LongText) });
  expect(() => itemMembers(model, { texts: [], others: ['id', 'note'] })).toThrow('note only as one of the texts');
  expect(Object.keys(itemMembers(model, { texts: ['note'], others: ['id'] }))).toEqual(['id', 'note']);
});
