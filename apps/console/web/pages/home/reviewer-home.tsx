import type { ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import type { ListedCase } from '../cases/case-api.ts';
import { State } from '../cases/case-words.tsx';
import { Decisions } from '../overview/activity-cards.tsx';
import { Figures } from './figures.tsx';
import * as texts from './texts.ts';

/** Of each state; the queue has all. */
const SHOWN = 10;
const REFRESH_MS = 30_000;

type Status = 'in_review' | 'received' | 'decided';

const toQueue = (status: Status): string => `/cases/live/queue?status=${status}`;

/** The start page of a reviewer: the cases that wait longest, and decisions that are not in the ledger yet. */
export const ReviewerHome = (): ReactNode => (
  <Page title={texts.casesToReview} intro={texts.casesToReviewIntro}>
    <Counts />
    <Waiting status="in_review" title={texts.inReview} columns={OPEN_COLUMNS} />
    <Waiting status="received" title={texts.received} columns={OPEN_COLUMNS} />
    <Waiting status="decided" title={texts.toBeSealed} columns={DECIDED_COLUMNS} />
    <Decisions />
  </Page>
);

function Counts(): ReactNode {
  const counts = api.useQuery(
    'get',
    '/admin/case-gate/admin/v1/case-counts',
    { params: { query: { environment: 'live' } } },
    { refetchInterval: REFRESH_MS },
  );
  const of = (status: Status) => counts.data?.states.find((state) => state.status === status)?.count;
  return (
    <>
      {counts.isError && <Unread read={counts} />}
      <Figures
        figures={[
          { label: texts.inReview, value: of('in_review'), to: toQueue('in_review'), tone: 'wait' },
          { label: texts.received, value: of('received'), to: toQueue('received'), tone: 'wait' },
          { label: texts.toBeSealed, value: of('decided'), to: toQueue('decided'), tone: 'wait' },
        ]}
      />
    </>
  );
}

const CASE: Column<ListedCase> = {
  title: texts.theCase,
  cell: ({ case_id, external_ref }) => (
    <Anchor component={Link} to={`/cases/live/queue/${case_id}`} fw={600} size="sm">
      {external_ref ?? case_id}
    </Anchor>
  ),
};

const OPEN_COLUMNS: readonly Column<ListedCase>[] = [
  CASE,
  { title: texts.status, width: '9rem', cell: (row) => <State value={row.status} /> },
  { title: texts.waitsSince, width: '10rem', cell: ({ created_at }) => <Time value={created_at} form="ago" /> },
  { title: texts.expires, width: '10rem', cell: ({ expires_at }) => <Time value={expires_at} form="day" /> },
];

const DECIDED_COLUMNS: readonly Column<ListedCase>[] = [
  CASE,
  { title: texts.outcome, width: '9rem', cell: ({ decision }) => decision !== null && <State value={decision} /> },
  {
    title: texts.decided,
    width: '10rem',
    cell: ({ decided_at }) => decided_at !== null && <Time value={decided_at} form="ago" />,
  },
  { title: texts.policyVersion, width: '10rem', cell: ({ policy_version }) => policy_version },
];

interface WaitingProps {
  readonly status: Status;
  readonly title: string;
  readonly columns: readonly Column<ListedCase>[];
}

function Waiting({ status, title, columns }: WaitingProps): ReactNode {
  const waiting = api.useQuery(
    'get',
    '/admin/case-gate/admin/v1/cases',
    { params: { query: { environment: 'live', status, sort: 'created_at', limit: SHOWN } } },
    { refetchInterval: REFRESH_MS },
  );
  return (
    <Section title={title}>
      <Unread read={waiting} rows={3} />
      {waiting.data !== undefined && (
        <PlainTable
          label={title}
          rows={waiting.data.items}
          rowKey={({ case_id }) => case_id}
          columns={columns}
          isDense
          empty={<ListEmpty title={texts.nothingWaitsHere} icon="check" />}
        />
      )}
      {waiting.data?.nextCursor != null && (
        <Text size="sm">
          <Anchor component={Link} to={toQueue(status)}>
            {texts.allOfThem}
          </Anchor>
        </Text>
      )}
    </Section>
  );
}
