import type { MemberRights } from '../../shell/mine.ts';

/** Of which rows numbers are, for somebody who does not see all; empty: of all. */
export function rowsSeen({ unrestricted, departments, canReadSensitive }: MemberRights['scope']): string {
  if (unrestricted && canReadSensitive) return '';
  const told = 'Numbers are of the rows that you may see:';
  if (unrestricted) return `${told} sensitive rows of others are not among them.`;
  const rows = ['your own', ...departments.map((department) => `those of ${department}`)].join(', ');
  return `${told} ${rows}${canReadSensitive || departments.length === 0 ? '' : ', without sensitive ones of others'}.`;
}
