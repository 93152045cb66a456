import { expect, it } from '@jest/globals';
import type { Sql, Statement } from '@sealgate/storage';
import { signInStore } from './callers-store.ts';

it('looks the requests of people up in few statements, however many come at once', async () => {
  const asked: Statement[] = [];
  const row = { place: 2, id: 'idn_2', makes: null, person_id: 'per_2', org_id: 'org_1', roles: ['viewer'] };
  const scope = { departments: [], unrestricted: true, can_read_sensitive: false };
  const sql: Sql = {
    query: (statement) => {
      asked.push(statement);
      return Promise.resolve([{ ...row, ...scope }] as never[]);
    },
  };
  const runAudited = () => Promise.reject(new Error('nothing is accepted'));
  const store = signInStore({ sql, runAudited, now: () => 5, newId: (prefix) => prefix, deadlineMs: 1000 });
  const find = (subject: string, email?: string) => store.find({ issuer: 'https://id', subject, claims: {} }, email);
  const found = await Promise.all([...Array.from({ length: 300 }, () => find('one')), find('two', 'two@acme.example')]);
  expect(asked.length).toBeLessThanOrEqual(2);
  const { values } = asked.at(-1)!;
  expect(asked[0]!.values).toEqual([['https://id'], ['one'], [null], new Date(5)]);
  expect(values).toEqual([['https://id', 'https://id'], ['one', 'two'], [null, 'two@acme.example'], new Date(5)]);
  expect(found[0].callers).toEqual([]);
  expect(found[300]!.callers).toMatchObject([{ personId: 'per_2', orgId: 'org_1', credential: { id: 'idn_2' } }]);
});
