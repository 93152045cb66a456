import { describe, expect, it } from '@jest/globals';
import { readProjectFile } from '../rules/project-files.ts';
import { rules } from './alert-rules.ts';

const page = readProjectFile('infra/operations/service-levels.md');

/** The rows of a table between its markers, without the header. */
function rowsOf(name: string): string[][] {
  const [, part = ''] = new RegExp(`<!-- ${name}:begin -->(.*)<!-- ${name}:end -->`, 's').exec(page) ?? [];
  const rows = part.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const burning = rules.filter(({ alert = '' }) => alert.endsWith('BudgetBurning'));

/** Error budget: the number after the burn rate in the first comparison of each alert of that name. */
const allowedBy = (alert: string): string[] => [
  ...new Set(burning.filter((rule) => rule.alert === alert).map(({ expr }) => /> [\d.]+ \* ([\d.]+)/.exec(expr)![1]!)),
];

/** 0.001 as 99.9 %. */
const promised = (alert: string): string => `${Number((100 - 100 * Number(allowedBy(alert)[0])).toFixed(3))} %`;

describe('the service level page', () => {
  it('has the objectives of the rules', () => {
    expect(allowedBy('SealgateAvailabilityBudgetBurning')).toHaveLength(1);
    expect(allowedBy('SealgateLatencyBudgetBurning')).toHaveLength(1);
    const availability = `${promised('SealgateAvailabilityBudgetBurning')} of answers are not 5xx`;
    const within = (le = '') => `${promised('SealgateLatencyBudgetBurning')} of answers come within ${le} s`;
    const latencies = rules.filter(({ record }) => record === 'service_le:latency:promised');
    expect(rowsOf('objectives')).toEqual(
      latencies.map(({ labels }) => [labels?.['service'], availability, within(labels?.['le'])]),
    );
  });

  it('has the burn rate and windows of each alert', () => {
    const rows = burning.map(({ alert = '', expr, labels, annotations }) => {
      const comparisons = [...expr.matchAll(/rate(\w+) \/ \S+:rate(\w+) > ([\d.]+) \*/g)];
      expect(comparisons.map(([, failed, all]) => failed === all)).toEqual([true, true]);
      const [[, long, , rate], [, short, , shortRate]] = comparisons as [RegExpExecArray, RegExpExecArray];
      expect([shortRate, labels?.['window']]).toEqual([rate, long]);
      const runbook = annotations?.['runbook']?.replace('infra/', '../');
      return [`[${alert}](${runbook})`, labels?.['severity'], rate, long, short];
    });
    expect(rows.length).toBeGreaterThan(0);
    expect(rowsOf('burn')).toEqual(rows);
  });

  it('lists existing alerts, with their runbooks', () => {
    const named = [...page.matchAll(/\[(Sealgate\w+)\]\(\.\.\/(runbooks\/[\w-]+\.md)\)/g)];
    const runbookOf = new Map(rules.map(({ alert, annotations }) => [alert, annotations?.['runbook']]));
    const faults = named.filter(([, alert, runbook]) => runbookOf.get(alert) !== `infra/${runbook}`);
    expect(faults.map(([text]) => text)).toEqual([]);
  });
});
