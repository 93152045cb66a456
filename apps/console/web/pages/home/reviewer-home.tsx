import type { ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { getJson } from '../../shell/console-fetch.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { adminPath, type ListedCase, type Page as PageOf } from '../cases/case-api.ts';
import { State } from '../cases/case-words.tsx';
import { Decisions } from '../overview/activity-cards.tsx';

/** Of each state; the queue has all. */
const SHOWN = '10';
const REFRESH_MS = 30_000;

/** The start page of a reviewer: the cases that wait longest. */
export const ReviewerHome = (): ReactNode => (
  <Page title="Cases to review" intro="The longest waiting first, in the environment live.">
    <Waiting status="in_review" title="In review" />
    <Waiting status="received" title="Received" />
    <Decisions />
  </Page>
);

function Waiting({ status, title }: { readonly status: string; readonly title: string }): ReactNode {
  const waiting = useQuery({
    queryKey: ['cases', 'live', 'home', status],
    queryFn: () =>
      getJson<PageOf<ListedCase>>(
        adminPath('/cases', { environment: 'live', status, sort: 'created_at', limit: SHOWN }),
      ),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Section title={title}>
      <Unread read={waiting} rows={3} />
      {waiting.data !== undefined && (
        <PlainTable
          label={title}
          rows={waiting.data.items}
          rowKey={({ case_id }) => case_id}
          columns={[
            {
              title: 'Case',
              cell: ({ case_id, external_ref }) => (
                <Anchor component={Link} to={`/cases/live/queue/${case_id}`} fw={600} size="sm">
                  {external_ref ?? case_id}
                </Anchor>
              ),
            },
            { title: 'Status', width: '9rem', cell: (row) => <State value={row.status} /> },
            { title: 'Waits since', width: '10rem', cell: ({ created_at }) => <Time value={created_at} form="ago" /> },
            { title: 'Expires', width: '10rem', cell: ({ expires_at }) => <Time value={expires_at} form="day" /> },
          ]}
          empty={<ListEmpty title="Nothing waits here" icon="check" />}
        />
      )}
      {waiting.data?.nextCursor != null && (
        <Text size="sm">
          <Anchor component={Link} to={`/cases/live/queue?status=${status}`}>
            All of them
          </Anchor>
        </Text>
      )}
    </Section>
  );
}
