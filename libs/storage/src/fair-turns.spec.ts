import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairTurns } from './fair-turns.ts';

/** Who was given a place, in order; `asks` one letter for each wish. */
function wishes(turns: FairTurns, asks: string): { served: string[]; withdraw: (() => void)[] } {
  const served: string[] = [];
  const withdraw = [...asks].map((caller) => turns.ask(caller, () => served.push(caller)));
  return { served, withdraw };
}

describe('turns', () => {
  it('give a free place at once', () => {
    const { served } = wishes(new FairTurns(2), 'aa');
    expect(served).toEqual(['a', 'a']);
  });

  it('let one caller take all places while nobody else waits', () => {
    const turns = new FairTurns(3);
    const { served } = wishes(turns, 'aaaaa');
    expect([served.length, turns.waiting]).toEqual([3, 2]);
    turns.leave('a');
    expect(served.length).toBe(4);
  });

  it('give the next place to who holds least, however many another waits with', () => {
    const turns = new FairTurns(2);
    const { served } = wishes(turns, 'aaaaaaaab');
    turns.leave('a');
    expect(served).toEqual(['a', 'a', 'b']);
  });

  it('go round between callers that hold as much', () => {
    const turns = new FairTurns(1);
    const { served } = wishes(turns, 'xaabbcc');
    for (const caller of 'xabcabc') turns.leave(caller);
    expect(served.join('')).toBe('xabcabc');
  });

  it('serve the wishes of one caller in their order', () => {
    const turns = new FairTurns(1);
    const order: number[] = [];
    for (let i = 0; i < 4; i += 1) turns.ask('a', () => order.push(i));
    for (let i = 0; i < 3; i += 1) turns.leave('a');
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it('leave out who has withdrawn, and ignore who withdraws late', () => {
    const turns = new FairTurns(1);
    const { served, withdraw } = wishes(turns, 'abc');
    withdraw[1]?.();
    withdraw[1]?.();
    withdraw[0]?.();
    expect(turns.waiting).toBe(1);
    turns.leave('a');
    expect(served).toEqual(['a', 'c']);
  });

  it('refuse a place that nobody had', () => {
    const turns = new FairTurns(1);
    expect(() => turns.leave('a')).toThrow('nobody');
    wishes(turns, 'ab');
    expect(() => turns.leave('b')).toThrow('nobody');
  });

  it('never give more places than there are, leave none free while somebody waits, and serve everybody', () => {
    const step = fc.record({ caller: fc.constantFrom('a', 'b', 'c', 'd'), leaves: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 80 }), (places, steps) => {
        const turns = new FairTurns(places);
        const held: string[] = [];
        let asked = 0;
        let served = 0;
        const leaveOne = (): void => {
          const caller = held.shift();
          if (caller !== undefined) turns.leave(caller);
        };
        for (const { caller, leaves } of steps) {
          if (leaves) leaveOne();
          else {
            asked += 1;
            turns.ask(caller, () => {
              served += 1;
              held.push(caller);
            });
          }
          expect(held.length).toBe(Math.min(places, held.length + turns.waiting));
        }
        while (held.length > 0) leaveOne();
        expect([served, turns.waiting]).toEqual([asked, 0]);
      }),
    );
  });
});
