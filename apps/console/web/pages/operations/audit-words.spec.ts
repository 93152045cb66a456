import { describe, expect, it } from '@jest/globals';
import { actionInWords, choicesIn, kindInWords, detailInWords } from './audit-words.ts';

describe('the details of an audit event', () => {
  it.each([
    [null, '–'],
    ['text', 'text'],
    [{}, ''],
    [{ label: 'Till', replaces: null, uses: ['a'] }, 'label: Till, replaces: –, uses: ["a"]'],
    [[1, 2], '[1,2]'],
  ])('%j are shown as %s', (detail, words) => {
    expect(detailInWords(detail)).toBe(words);
  });

  it('are cut by characters, not in the middle of one', () => {
    expect(detailInWords('🜁'.repeat(300))).toBe(`${'🜁'.repeat(240)}…`);
  });
});

describe('codes of an audit', () => {
  it.each([
    ['key.revoke', 'Revoke key'],
    ['org.create', 'Create organisation'],
    ['apiKey.rotate', 'Rotate API key'],
    ['channel.declare-loss', 'Declare the loss of a channel'],
    ['frameworkItem.re-open', 'Re open framework item'],
    ['toString', 'toString'],
    ['a.b.c', 'a.b.c'],
  ])('%s is said as %s', (action, words) => expect(actionInWords(action)).toBe(words));

  it('of a kind are words', () => {
    expect(['org', 'frameworkItem', 'some_thing'].map(kindInWords)).toEqual([
      'organisation',
      'framework item',
      'some thing',
    ]);
  });

  it('are offered once, people by name, with those that only newest events have', () => {
    const seen = { actor: 'oidc:https://id#7', action: 'thing.paint', resource: 'thing', names: {} };
    const named = { ...seen, names: { [seen.actor]: 'Ada' } };
    const { actors, actions, kinds } = choicesIn([seen, named]);
    expect(actors).toEqual([{ value: seen.actor, label: 'Ada' }]);
    expect(actions.filter(({ value }) => value === 'thing.paint')).toEqual([
      { value: 'thing.paint', label: 'Paint thing' },
    ]);
    expect(actions).toContainEqual({ value: 'key.mint', label: 'Mint key' });
    expect(kinds).toContainEqual({ value: 'thing', label: 'thing' });
  });
});
