import type { ReactNode } from 'react';
import { Anchor, Button, Paper, Select, SimpleGrid, Text } from '@mantine/core';
import { Link } from 'react-router';
import { api, listed } from '../../shell/api.ts';
import { CursorTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { FilterBar } from '../filter-bar.tsx';
import { exportOf, type ListedCase } from './case-api.ts';
import * as texts from './case-texts.ts';
import { State, wordOf } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import { Subject } from './subject-link.tsx';

/** What the address means by no status: what waits for a decision of a person. */
const WAITING = 'open';
const ALL = 'all';
const STATUSES = ['received', 'in_review', 'decided', 'sealing', 'sealed', 'withdrawn', 'expired'];

const TYPED = [{ name: 'subject_ref', label: texts.subject, placeholder: texts.subjectExample, width: 240 }] as const;
const TIMES = [
  { name: 'created_from', label: texts.openedFrom },
  { name: 'created_to', label: texts.openedUntil },
] as const;

/** The cases that wait for a decision, longest waiting first; and on demand others, newest first. */
export function QueuePage(): ReactNode {
  const { name, isOperator, to } = useEnvironment();
  const [chosen, choose] = useUrlFilters(['status', 'subject_ref', 'created_from', 'created_to']);
  const { status: shown = WAITING, ...others } = chosen;
  const filters = { ...others, ...(shown === WAITING ? { open: 'true' } : shown !== ALL && { status: shown }) };
  return (
    <Page
      title={texts.queue}
      intro={texts.queueIntro}
      actions={
        isOperator && (
          <Button component={Link} to={to('queue/new')}>
            {texts.newCase}
          </Button>
        )
      }
    >
      <Counts chosen={chosen.status} onChoose={(status) => choose({ status })} />
      <FilterBar chosen={chosen} onChoose={choose} typed={TYPED} times={TIMES}>
        <Select
          label={texts.status}
          allowDeselect={false}
          w={170}
          value={shown}
          data={[
            { value: WAITING, label: texts.toBeDecided },
            { value: ALL, label: texts.all },
            ...STATUSES.map((value) => ({ value, label: wordOf(value) })),
          ]}
          onChange={(status) => choose({ status: status === WAITING ? null : status })}
        />
      </FilterBar>
      <CursorTable
        isDense
        label={texts.cases}
        key={shown}
        tools={{
          searches: texts.wordsInIdOrReference,
          order: shown === WAITING ? 'created_at' : '-created_at',
          exports: isOperator ? exportOf(name, 'cases', filters) : undefined,
        }}
        page={listed('/admin/case-gate/admin/v1/cases', { query: { environment: name, ...filters } })}
        rowKey={({ case_id }) => case_id}
        columns={columnsOf(to)}
        empty={
          <ListEmpty
            title={Object.keys(chosen).length === 0 ? texts.nothingWaitsForADecision : texts.noCaseMatchesTheseFilters}
          >
            {texts.noCaseHint}
          </ListEmpty>
        }
      />
    </Page>
  );
}

const columnsOf = (to: (page: string) => string): readonly Column<ListedCase>[] => [
  {
    title: texts.theCase,
    cell: ({ case_id, external_ref }) => (
      <Anchor component={Link} to={to(`queue/${case_id}`)} fw={600} size="sm">
        {external_ref ?? case_id}
      </Anchor>
    ),
  },
  {
    title: texts.subject,
    cell: ({ subject_ref }) => <Subject subjectRef={subject_ref} />,
  },
  { title: texts.status, width: '9rem', cell: ({ status }) => <State value={status} /> },
  {
    title: texts.outcome,
    width: '8rem',
    cell: ({ decision }) => (decision === null ? '–' : <State value={decision} />),
  },
  { title: texts.attachments, width: '8rem', cell: ({ attachment_count }) => attachment_count },
  {
    title: texts.age,
    width: '9rem',
    sort: 'created_at',
    cell: ({ created_at }) => <Time value={created_at} form="ago" />,
  },
  {
    title: texts.changed,
    width: '9rem',
    sort: '-updated_at',
    cell: ({ updated_at }) => <Time value={updated_at} form="ago" />,
  },
  {
    title: texts.expires,
    width: '9rem',
    cell: ({ status, expires_at }) =>
      ['received', 'in_review'].includes(status) ? <Time value={expires_at} form="day" /> : '–',
  },
];

function Counts({
  chosen,
  onChoose,
}: {
  readonly chosen: string | undefined;
  readonly onChoose: (status: string | null) => void;
}): ReactNode {
  const { name: environment } = useEnvironment();
  const counts = api.useQuery('get', '/admin/case-gate/admin/v1/case-counts', { params: { query: { environment } } });
  if (counts.isError) return <ProblemView error={counts.error} onRetry={() => void counts.refetch()} />;
  return (
    <SimpleGrid cols={{ base: 2, xs: 3, md: 7 }} spacing="sm">
      {STATUSES.map((status) => {
        const found = counts.data?.states.find((state) => state.status === status);
        return (
          <Paper
            key={status}
            component="button"
            p="sm"
            ta="start"
            aria-pressed={chosen === status}
            style={{
              cursor: 'pointer',
              display: 'flex',
              flexDirection: 'column',
              outline: chosen === status ? '2px solid var(--mantine-color-anchor)' : undefined,
            }}
            onClick={() => onChoose(chosen === status ? null : status)}
          >
            <Text size="sm" c="dimmed">
              {wordOf(status)}
            </Text>
            <Text fw={700} fz={22}>
              {found?.count ?? '–'}
            </Text>
            <Text size="xs" c="dimmed" component="div">
              {found?.oldest_at != null ? texts.oldestAt(<Time value={found.oldest_at} form="ago" />) : ' '}
            </Text>
          </Paper>
        );
      })}
    </SimpleGrid>
  );
}
