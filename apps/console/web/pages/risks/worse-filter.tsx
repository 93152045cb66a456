import { useState, type ReactNode } from 'react';
import { Select } from '@mantine/core';
import { TimeFilter } from '../filter-bar.tsx';
import { beginOf, PERIODS, type Period } from './periods.ts';
import * as texts from './texts.ts';

const NAMES: Readonly<Record<Period, string>> = {
  quarter: texts.startOfThisQuarter,
  days: texts.thirtyDaysAgo,
  year: texts.twelveMonthsAgo,
};
const DATE = 'date';

interface WorseFilterProps {
  readonly label: string;
  /** RFC 3339. */
  readonly value: string | undefined;
  readonly onSet: (since: string | null) => void;
}

/** Since when risks got worse: a period or a date. The URL has the time, so that a link shows everybody the same risks. */
export function WorseFilter({ label, value, onSet }: WorseFilterProps): ReactNode {
  const [asksDate, setAsksDate] = useState(false);
  const [seen, setSeen] = useState(value);
  if (seen !== value) {
    setSeen(value);
    setAsksDate(false);
  }
  const nowMs = Date.now();
  const period = PERIODS.find((one) => beginOf(one, nowMs) === value);
  const isDate = asksDate || (value !== undefined && period === undefined);
  return (
    <>
      <Select
        label={label}
        clearable
        placeholder={texts.all}
        w={200}
        value={isDate ? DATE : (period ?? null)}
        data={[...PERIODS.map((one) => ({ value: one, label: NAMES[one] })), { value: DATE, label: texts.aDate }]}
        onChange={(chosen) => {
          setAsksDate(chosen === DATE);
          if (chosen !== DATE) onSet(chosen && beginOf(chosen, nowMs));
        }}
        clearButtonProps={{ 'aria-label': texts.clear(label) }}
      />
      {isDate && <TimeFilter label={texts.since} value={value} onSet={onSet} />}
    </>
  );
}
