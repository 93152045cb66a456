import type { ReportTable } from '../report.ts';
import { findingRow, verdictOn, type Finding } from '../targets.ts';
import { decimals, right, wholeNumber } from '../text-table.ts';

/** What a cost at size must hold: its ratio to that of the demo's size, or the cost itself. */
export type CostTarget = 'sizeRatio' | 'sizeAnswer' | 'sizeStart' | 'sizeMemory';

/** One cost at two sizes. */
export interface Cost {
  readonly what: string;
  readonly unit: string;
  readonly small: number;
  readonly large: number;
  /** Undefined where nothing is promised. */
  readonly target: CostTarget | undefined;
}

const ratioOf = ({ small, large }: Cost): number => large / small;
const judged = (cost: Cost): number => (cost.target === 'sizeRatio' ? ratioOf(cost) : cost.large);
const shown = (value: number): string => (value >= 100 ? wholeNumber(value) : decimals(value, 2));

/** One line for each cost, beside that of the demo's size. */
export function costTable(costs: readonly Cost[], size: string): ReportTable {
  return {
    columns: [
      { name: 'what' },
      { name: 'unit' },
      ...["demo's size", size, 'ratio'].map(right),
      { name: 'must' },
      { name: 'verdict' },
    ],
    rows: costs.map((cost) => {
      const { target } = cost;
      const [, must = '-', , verdict = '-'] = target === undefined ? [] : findingRow({ target, value: judged(cost) });
      return [cost.what, cost.unit, shown(cost.small), shown(cost.large), decimals(ratioOf(cost), 2), must, verdict];
    }),
  };
}

/** The worst cost of each target, and how many miss it. */
export function worstCosts(costs: readonly Cost[], of: string): Finding[] {
  return [...Map.groupBy(costs, ({ target }) => target)].flatMap(([target, all]) => {
    if (target === undefined) return [];
    const worst = all.reduce((one, other) => (judged(other) > judged(one) ? other : one));
    const missed = all.filter((cost) => verdictOn({ target, value: judged(cost) }) === 'MISSED').length;
    const more = missed > 1 ? `, and ${missed - 1} more` : '';
    return [{ target, value: judged(worst), of: `${of}: ${worst.what}${more}` }];
  });
}
