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
import * as texts from './texts.ts';

const TYPED = [
  { name: 'subject_ref', label: texts.subject, width: 190 },
  { name: 'venue_id', label: texts.venue, width: 190 },
  { name: 'reason_code', label: texts.reason, width: 190 },
] as const;

/** The decisions of the gate, newest first. They are logged within seconds. */
export function DecisionsPage(): ReactNode {
  const { name, isOperator, to } = useEnvironment();
  const [chosen, choose] = useUrlFilters(['subject_ref', 'venue_id', 'reason_code', 'decision', 'from', 'to']);
  return (
    <Page title={texts.gateDecisions} intro={texts.gateDecisionsIntro}>
      <FilterBar chosen={chosen} onChoose={choose} typed={TYPED} times={PERIOD}>
        <Select
          label={texts.answer}
          clearable
          placeholder={texts.all}
          w={130}
          value={chosen.decision ?? null}
          data={[
            { value: 'allow', label: texts.allow },
            { value: 'deny', label: texts.deny },
          ]}
          onChange={(decision) => choose({ decision })}
          clearButtonProps={{ 'aria-label': texts.clearAnswer }}
        />
      </FilterBar>
      <CursorTable
        isDense
        label={texts.gateDecisions}
        tools={{ order: '-evaluated_at', exports: isOperator ? exportOf(name, 'decisions', chosen) : undefined }}
        page={listed('/admin/case-gate/admin/v1/decisions', { query: { environment: name, ...chosen } })}
        rowKey={({ decision_id }) => decision_id}
        columns={columnsOf(to)}
        empty={
          <ListEmpty title={texts.noMatchingDecision} icon="door">
            {texts.noMatchingDecisionHint}
          </ListEmpty>
        }
      />
    </Page>
  );
}

const columnsOf = (to: (page: string) => string): readonly Column<LoggedDecision>[] => [
  {
    title: texts.when,
    width: '12rem',
    sort: '-evaluated_at',
    cell: ({ evaluated_at }) => <Time value={evaluated_at} />,
  },
  { title: texts.answer, width: '7rem', cell: ({ decision }) => <State value={decision} /> },
  {
    title: texts.reason,
    width: '14rem',
    cell: ({ reason_codes, fail_closed }) => (
      <>
        <ReasonCodes codes={reason_codes} /> {fail_closed && texts.failedClosed}
      </>
    ),
  },
  {
    title: texts.subject,
    cell: ({ subject_ref }) =>
      subject_ref === null ? (
        '–'
      ) : (
        <Anchor component={Link} to={to(`subjects/${encodeURIComponent(subject_ref)}`)} size="sm">
          {subject_ref}
        </Anchor>
      ),
  },
  { title: texts.venue, width: '10rem', cell: ({ venue_id }) => venue_id ?? '–' },
  {
    title: texts.proof,
    width: '7rem',
    cell: ({ decision_id }) => <ProveButton of={provableDecision(decision_id)} what={decision_id} />,
  },
  {
    title: texts.decision,
    width: '11rem',
    cell: ({ decision_id }) => <CodeText value={decision_id} label={texts.copyTheDecisionId} short={14} />,
  },
];
