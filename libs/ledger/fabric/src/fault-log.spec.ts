import { expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { FaultLog } from './fault-log.ts';

it('logs the peer once a minute for each problem and place, and its words shortened', () => {
  const clock = testClock();
  const logged: string[] = [];
  const observer = { problem: (what: string, detail: string) => void logged.push(`${what} ${detail}`) };
  const faults = new FaultLog({ now: clock.now, observer });
  const report = () => {
    faults.report('endorsers_away', 'peer:7051 main/basic', 'no peer combination');
    faults.report('contract_away', 'peer:7051 main/basic', 'x'.repeat(1001));
  };
  report();
  clock.advance(59_999);
  report();
  const expected = [
    'endorsers_away peer:7051 main/basic: no peer combination',
    `contract_away peer:7051 main/basic: ${'x'.repeat(1000)}`,
  ];
  expect(logged).toEqual(expected);
  clock.advance(1);
  report();
  expect(logged).toEqual([...expected, ...expected]);
});
