import { describe, expect, it } from '@jest/globals';
import { demoEvidence } from './evidence-titles.ts';

const controls = ['Backups', 'Backups, second review', 'Logging', 'Access rights', 'Awareness', 'Cryptography'].map(
  (subject, index) => ({ id: `control-${index}`, subject }),
);

describe('evidence of the demo', () => {
  it('says in its title what it shows, and when, so that no two look the same', () => {
    const titles = demoEvidence(controls).map(({ title }) => title);
    expect(titles.slice(0, 4)).toEqual([
      'Backups: test report, quarter 1',
      'Backups: screenshots of the settings, quarter 2',
      'Backups: signed statement, quarter 3',
      'Logging: extract of the log, quarter 1',
    ]);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('is of three quarters, and leaves controls without any', () => {
    const perControl = Map.groupBy(demoEvidence(controls), ({ controlId }) => controlId);
    expect([...perControl.keys()]).toEqual(['control-0', 'control-2', 'control-3', 'control-4']);
    expect([...perControl.values()].map(({ length }) => length)).toEqual([3, 3, 3, 3]);
  });
});
