import { describe, expect, it } from '@jest/globals';
import { actorInWords, withNames } from './actor-in-words.ts';

const EVE = 'oidc:https://sso.example.com/realms/a#eve#1';
const names = { [EVE]: 'Eve Müller', key_1: 'Till' };

describe('an actor', () => {
  it.each([
    [EVE, 'Eve Müller'],
    ['oidc:https://sso.example.com#00u1', '00u1'],
    ['key_1', 'Till (key)'],
    ['key_2', 'A key'],
    ['admin:1f2e3d4c', 'Operator’s token'],
    ['system', 'Sealgate'],
    ['Anna of the night shift', 'Anna of the night shift'],
    ['constructor', 'constructor'],
  ])('%s is called %s', (actor, words) => {
    expect(actorInWords(actor, names)).toBe(words);
  });

  it('is called by its subject where no name is known', () => {
    expect(actorInWords(EVE)).toBe('eve#1');
  });
});

it('rows of a page get the names beside them', () => {
  const page = { items: [{ actor: 'key_1' }], names, nextCursor: null };
  expect(withNames(page)).toEqual({ nextCursor: null, items: [{ actor: 'key_1', names }] });
});
