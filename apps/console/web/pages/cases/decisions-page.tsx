import type { ReactNode } from 'react';
import { Anchor, Select } from '@mantine/core';
import { Link } from 'react-router';
import { CodeText } from '../../shell/code-text.tsx';
import { listed } from '../../shell/api.ts';
import { CursorTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { provableDecision } from '../prove/provable.ts';
import { ProveButton } from '../prove/prove-button.tsx';
import { FilterBar, PERIOD } from '../filter-bar.tsx';
import { exportOf, type LoggedDecision } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import { ReasonCodes } from './reason-codes.tsx';

const TYPED = [
  { name: 'subject_ref', label: 'Subject', width: 190 },
  { name: 'venue_id', label: 'Venue', width: 190 },
  { name: 'reason_code', label: 'Reason', width: 190 },
] as const;

/** The decisions of the gate, newest first. They are logged within seconds. */
export function DecisionsPage(): ReactNode {
  const { name, isOperator, to } = useEnvironment();
  const [chosen, choose] = useUrlFilters(['subject_ref', 'venue_id', 'reason_code', 'decision', 'from', 'to']);
  return (
    <Page title="Gate decisions" intro="All decisions of the gate, newest first, listed within seconds.">
      <FilterBar chosen={chosen} onChoose={choose} typed={TYPED} times={PERIOD}>
        <Select
          label="Answer"
          clearable
          placeholder="All"
          w={130}
          value={chosen.decision ?? null}
          data={[
            { value: 'allow', label: 'Allow' },
            { value: 'deny', label: 'Deny' },
          ]}
          onChange={(decision) => choose({ decision })}
          clearButtonProps={{ 'aria-label': 'Clear Answer' }}
        />
      </FilterBar>
      <CursorTable
        isDense
        label="Gate decisions"
        tools={{ order: '-evaluated_at', exports: isOperator ? exportOf(name, 'decisions', chosen) : undefined }}
        page={listed('/admin/case-gate/admin/v1/decisions', { query: { environment: name, ...chosen } })}
        rowKey={({ decision_id }) => decision_id}
        columns={columnsOf(to)}
        empty={
          <ListEmpty title="No matching decision" icon="door">
            The gate logs each decision.
          </ListEmpty>
        }
      />
    </Page>
  );
}

const columnsOf = (to: (page: string) => string): readonly Column<LoggedDecision>[] => [
  {
    title: 'When',
    width: '12rem',
    sort: '-evaluated_at',
    cell: ({ evaluated_at }) => <Time value={evaluated_at} />,
  },
  { title: 'Answer', width: '7rem', cell: ({ decision }) => <State value={decision} /> },
  {
    title: 'Reason',
    width: '14rem',
    cell: ({ reason_codes, fail_closed }) => (
      <>
        <ReasonCodes codes={reason_codes} />
        {fail_closed && ' (failed closed)'}
      </>
    ),
  },
  {
    title: 'Subject',
    cell: ({ subject_ref }) =>
      subject_ref === null ? (
        '–'
      ) : (
        <Anchor component={Link} to={to(`subjects/${encodeURIComponent(subject_ref)}`)} size="sm">
          {subject_ref}
        </Anchor>
      ),
  },
  { title: 'Venue', width: '10rem', cell: ({ venue_id }) => venue_id ?? '–' },
  {
    title: 'Proof',
    width: '7rem',
    cell: ({ decision_id }) => <ProveButton of={provableDecision(decision_id)} what={decision_id} />,
  },
  {
    title: 'Decision',
    width: '11rem',
    cell: ({ decision_id }) => <CodeText value={decision_id} label="the decision id" short={14} />,
  },
];
