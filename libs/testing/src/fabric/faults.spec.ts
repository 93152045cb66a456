import { describe, expect, it } from '@jest/globals';
import { type FaultyCall, faultRegister } from './faults.ts';

const call = (changes: Partial<FaultyCall> = {}): FaultyCall => ({
  kind: 'submit',
  peer: 'localhost:1',
  channel: 'main',
  transactionId: 'tx',
  chaincode: '',
  ...changes,
});

describe('faultRegister', () => {
  it('applies the oldest matching fault, as often as configured', () => {
    const faults = faultRegister();
    const first = faults.inject('submit', { delayMs: 1 }, { times: 1 });
    faults.inject('submit', { delayMs: 2 });
    expect(faults.strike(call({ kind: 'evaluate' }))).toBeUndefined();
    expect([faults.strike(call()), faults.strike(call()), faults.strike(call())]).toEqual([
      { delayMs: 1 },
      { delayMs: 2 },
      { delayMs: 2 },
    ]);
    expect(first.struck()).toBe(1);
  });

  it('applies no fault after it was removed or cleared', () => {
    const faults = faultRegister();
    faults.inject('submit', { delayMs: 1 }).remove();
    expect(faults.strike(call())).toBeUndefined();
    faults.inject('submit', { delayMs: 1 });
    faults.judge({ commit: 10 });
    faults.clear();
    expect([faults.strike(call()), faults.verdict('commit', 'tx')]).toEqual([undefined, undefined]);
  });

  it('overrides the next transaction once, and a named one every time', () => {
    const faults = faultRegister();
    faults.judge({ commit: 10 });
    faults.judge({ transactionId: 'b', commitStatus: 11 });
    expect([faults.verdict('commit', 'a'), faults.verdict('commit', 'a')]).toEqual([10, undefined]);
    expect(faults.verdict('commitStatus', 'a')).toBeUndefined();
    expect([faults.verdict('commitStatus', 'b'), faults.verdict('commitStatus', 'b')]).toEqual([11, 11]);
    expect(faults.verdict('blocks', 'b')).toBeUndefined();
  });
});
