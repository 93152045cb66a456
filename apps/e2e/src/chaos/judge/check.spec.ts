import { describe, expect, it } from '@jest/globals';
import { Findings } from './check.ts';

describe('Findings', () => {
  it('keep the first twenty breaches, and count the others', () => {
    const findings = new Findings('all is well');
    for (let number = 1; number <= 23; number += 1) findings.judge(number > 1 && `breach ${number}`);
    const { promise, judged, broken } = findings.verdict();
    expect({ promise, judged, many: broken.length, last: broken.at(-1) }).toEqual({
      ...{ promise: 'all is well', judged: 23, many: 21, last: 'and 2 more' },
    });
  });

  it('tell the first line that shows a breach: of two lines the later one', () => {
    const findings = new Findings('all is well');
    expect(findings.verdict()).not.toHaveProperty('firstLine');
    for (const breach of ['a row', 'line 30: lost', 'lines 3 and 25: two answers']) findings.add(breach);
    expect(findings.verdict().firstLine).toBe(25);
  });
});
