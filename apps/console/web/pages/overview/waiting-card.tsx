import type { ReactNode } from 'react';
import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { getJson } from '../../shell/console-fetch.ts';
import { formatNumber } from '../../shell/formats.ts';
import { ListLoading } from '../../shell/list-states.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { asProblem } from '../../shell/problem.ts';
import type { SurfaceId } from '../../shell/session.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { surfaceNames } from '../../shell/surface-names.ts';

interface Waiting {
  readonly what: string;
  readonly description: string;
  readonly count: number;
  readonly oldestAt: string | null;
}

const REFRESH_MS = 15_000;

/** The backlogs of each surface: outboxes, jobs, records without a checkpoint. */
export function WaitingCard({ surfaces }: { surfaces: readonly SurfaceId[] }): ReactNode {
  const answers = useQueries({
    queries: surfaces.map((surface) => ({
      queryKey: ['waiting', surface],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        getJson<{ items: Waiting[] }>(`/admin/${surface}/admin/v1/waiting`, { signal }),
      refetchInterval: REFRESH_MS,
    })),
  });
  const rows = answers.flatMap(({ data }, index) =>
    (data?.items ?? [])
      .filter(({ count }) => count > 0)
      .map((item) => ({ ...item, surface: surfaces[index] as SurfaceId })),
  );
  const failed = answers.flatMap(({ error }, index) =>
    // Without access to an admin listener its backlog is not shown.
    error === null || [403, 404].includes(asProblem(error).status) ? [] : [{ error, surface: surfaces[index]! }],
  );
  return (
    <Stack gap="sm" component="section" aria-label="Backlog">
      <Title order={2}>Backlog</Title>
      {failed.map(({ error, surface }) => (
        <Stack key={surface} gap={4}>
          <Text size="sm">{surfaceNames[surface].title}</Text>
          <ProblemView error={error} />
        </Stack>
      ))}
      {rows.length === 0 && answers.some(({ isPending }) => isPending) ? (
        <Paper>
          <ListLoading rows={4} />
        </Paper>
      ) : (
        <PlainTable
          label="Backlog"
          rows={rows}
          rowKey={({ surface, what }) => `${surface} ${what}`}
          columns={[
            {
              title: 'What',
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
              title: 'How many',
              align: 'right',
              width: '7.5rem',
              cell: ({ count }) => formatNumber(count),
            },
            {
              title: 'Since',
              width: '9rem',
              cell: ({ oldestAt }) => (oldestAt === null ? '' : <Time value={oldestAt} form="ago" />),
            },
          ]}
          empty={
            <Group p="md">
              <StateBadge tone="good">No backlog</StateBadge>
            </Group>
          }
        />
      )}
    </Stack>
  );
}
