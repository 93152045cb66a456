import type { ReactNode } from 'react';
import { Anchor, Modal, Title } from '@mantine/core';
import { Link } from 'react-router';
import { CodeText } from '../../shell/code-text.tsx';
import { dataOf } from '../../shell/console-fetch.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { quoted } from '../../shell/quoted.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { Time } from '../../shell/time.tsx';
import type { Source } from './source-form.tsx';

/** The outcomes of the last deliveries to a source, newest first. */
export const SourceDeliveries = ({ source, onClose }: { source: Source; onClose: () => void }): ReactNode => (
  <Modal
    opened
    onClose={onClose}
    size="xl"
    title={`Deliveries of ${quoted(source.name)}`}
    closeButtonProps={{ 'aria-label': 'Close' }}
  >
    <CursorTable
      label="Deliveries"
      cursorName="deliveries"
      queryKey={['deliveries', source.sourceId]}
      load={(cursor, signal) =>
        dataOf(
          ingestAdmin.GET('/admin/v1/networks/{networkId}/sources/{sourceId}/deliveries', {
            params: {
              path: { networkId: source.networkId, sourceId: source.sourceId },
              query: { limit: 20, ...(cursor && { cursor }) },
            },
            signal,
          }),
        )
      }
      rowKey={({ at, requestId, outcome }) => `${at} ${requestId} ${outcome}`}
      columns={[
        { title: 'When', cell: ({ at }) => <Time value={at} form="ago" /> },
        {
          title: 'Outcome',
          cell: ({ outcome, code }) => <StateBadge tone={code === null ? 'good' : 'bad'}>{code ?? outcome}</StateBadge>,
        },
        { title: 'How many', align: 'right', cell: ({ deliveries }) => deliveries },
        { title: 'Types', cell: ({ types }) => types.join(', ') },
        {
          title: 'Event',
          cell: ({ eventId, requestId }) =>
            eventId === null ? (
              <CodeText value={requestId} label="the request id" short={14} />
            ) : (
              <Anchor component={Link} to={`/events/${encodeURIComponent(eventId)}`} size="sm">
                Open
              </Anchor>
            ),
        },
      ]}
      empty={<ListEmpty title="Nothing was delivered yet" icon="live" />}
    />
    <Title order={3} mt="lg" mb="xs">
      Refused, with the reason
    </Title>
    <RefusedDeliveries source={source} />
  </Modal>
);

/** The sender is told the status only; why is for the operator. */
const RefusedDeliveries = ({ source }: { source: Source }): ReactNode => (
  <CursorTable
    label="Refused deliveries"
    cursorName="refused"
    queryKey={['refused', source.sourceId]}
    load={(cursor, signal) =>
      dataOf(
        ingestAdmin.GET('/admin/v1/networks/{networkId}/sources/{sourceId}/refused', {
          params: {
            path: { networkId: source.networkId, sourceId: source.sourceId },
            query: { limit: 20, ...(cursor && { cursor }) },
          },
          signal,
        }),
      )
    }
    rowKey={({ refusedId }) => refusedId}
    columns={[
      { title: 'When', cell: ({ at }) => <Time value={at} form="ago" /> },
      { title: 'Code', cell: ({ code }) => <StateBadge tone="bad">{code}</StateBadge> },
      {
        title: 'Reason',
        cell: ({ reason, header, pointer, skewSeconds }) =>
          [reason, header, pointer, skewSeconds === null ? null : `${skewSeconds} s`].filter(Boolean).join(' '),
      },
      { title: 'Detail', cell: ({ detail }) => detail },
      { title: 'Kept until', cell: ({ keptUntil }) => keptUntil !== null && <Time value={keptUntil} /> },
      { title: 'Processed again', cell: ({ outcome }) => outcome },
    ]}
    empty={<ListEmpty title="Nothing was refused" icon="live" />}
  />
);
