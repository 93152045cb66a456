import type { MemberRights } from '../../shell/mine.ts';
import * as texts from './texts.ts';

/** Of which rows numbers are, for somebody who does not see all; empty: of all. */
export function rowsSeen({ unrestricted, departments, canReadSensitive }: MemberRights['scope']): string {
  if (unrestricted && canReadSensitive) return '';
  if (unrestricted) return texts.numbersWithoutSensitive;
  const rows = [texts.yourOwn, ...departments.map((department) => texts.rowsOfDepartment(department))].join(', ');
  return canReadSensitive || departments.length === 0
    ? texts.numbersOfRows(rows)
    : texts.numbersOfRowsWithoutSensitive(rows);
}
