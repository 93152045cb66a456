import type { ReactNode } from 'react';
import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { formatNumber } from '../../shell/formats.ts';
import { ListLoading } from '../../shell/list-states.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import type { SurfaceId } from '../../shell/session.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { surfaceNames } from '../../shell/surface-names.ts';
import * as texts from './texts.ts';

/** The backlog of a surface. */
export interface WaitingAt {
  readonly id: SurfaceId;
  /** null: its admin listener did not say. */
  readonly items:
    | readonly {
        readonly what: string;
        readonly description: string;
        readonly count: number;
        readonly oldestAt: string | null;
      }[]
    | null;
}

/** The backlogs of the surfaces: outboxes, jobs, records without a checkpoint. */
export function WaitingCard({ waiting }: { readonly waiting: readonly WaitingAt[] | undefined }): ReactNode {
  const rows = (waiting ?? []).flatMap(({ id: surface, items }) =>
    (items ?? []).filter(({ count }) => count > 0).map((item) => ({ ...item, surface })),
  );
  const silent = (waiting ?? []).filter(({ items }) => items === null);
  return (
    <Stack gap="sm" component="section" aria-label={texts.backlog}>
      <Title order={2}>{texts.backlog}</Title>
      {silent.length > 0 && (
        <Text size="sm">{texts.backlogNotKnownOf(silent.map(({ id }) => surfaceNames[id].title).join(', '))}</Text>
      )}
      {waiting === undefined ? (
        <Paper>
          <ListLoading rows={4} />
        </Paper>
      ) : (
        <PlainTable
          label={texts.backlog}
          rows={rows}
          rowKey={({ surface, what }) => `${surface} ${what}`}
          columns={[
            {
              title: texts.what,
              cell: ({ description, surface }) => (
                <Stack gap={0}>
                  <span>{description}</span>
                  <Text size="xs" c="dimmed">
                    {surfaceNames[surface].title}
                  </Text>
                </Stack>
              ),
            },
            {
              title: texts.howMany,
              align: 'right',
              width: '7.5rem',
              cell: ({ count }) => formatNumber(count),
            },
            {
              title: texts.since,
              width: '9rem',
              cell: ({ oldestAt }) => (oldestAt === null ? '' : <Time value={oldestAt} form="ago" />),
            },
          ]}
          empty={
            <Group p="md">
              <StateBadge tone="good">{texts.noBacklog}</StateBadge>
            </Group>
          }
        />
      )}
    </Stack>
  );
}
