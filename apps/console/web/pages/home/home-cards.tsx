import type { ReactNode } from 'react';
import { Anchor, Group, Paper, SimpleGrid, Stack, Text, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { dataOf } from '../../shell/console-fetch.ts';
import { PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { formatNumber, formatUtcMonth } from '../../shell/formats.ts';
import { ListEmpty, ListLoading, Unread } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { useOrganization } from '../risks/organization.tsx';
import { KINDS } from '../risks/record-kinds.ts';
import { Score, Status } from '../risks/record-values.tsx';
import { listRecords, type RiskSchemas, type Views } from '../risks/risk-api.ts';
import { inWords } from '../risks/words.ts';
import { Bars, Columns, StackedBar, type Tone } from './bars.tsx';

const SHOWN = '6';

type Query = Readonly<Record<string, string | undefined>>;

interface FiguresProps {
  readonly figures: readonly {
    readonly label: string;
    readonly value: number | undefined;
    readonly to: string;
    readonly tone?: Tone;
  }[];
}

/** Numbers that lead to the list that they count. */
export const Figures = ({ figures }: FiguresProps): ReactNode => (
  <SimpleGrid cols={{ base: 2, sm: 3, lg: Math.max(3, Math.min(5, figures.length)) }} spacing="sm">
    {figures.map(({ label, value, to, tone = 'plain' }) => (
      <Paper key={label} p="sm">
        <UnstyledButton component={Link} to={to} w="100%">
          <Text size="sm" c="dimmed">
            {label}
          </Text>
          <Text fw={700} fz={24} {...(value !== undefined && value > 0 && tone !== 'plain' && { c: colorOf(tone) })}>
            {value === undefined ? '–' : formatNumber(value)}
          </Text>
        </UnstyledButton>
      </Paper>
    ))}
  </SimpleGrid>
);

const colorOf = (tone: Tone): string => `var(--console-${tone === 'plain' ? 'good' : tone})`;

interface RecordListProps {
  readonly title: string;
  readonly query: Query;
  readonly empty: string;
}

/** The first records of a query, each with a link and further columns. */
function RecordList<K extends 'risks' | 'evidence'>({
  kind,
  columns,
  title,
  query,
  empty,
}: RecordListProps & { readonly kind: K; readonly columns: readonly Column<Views[K]>[] }): ReactNode {
  const { id: orgId, client, to } = useOrganization();
  const { one, page } = KINDS[kind];
  const found = useQuery({
    queryKey: ['risks', orgId, 'home', kind, query],
    queryFn: () => listRecords(client, kind, { limit: SHOWN, ...query }),
  });
  return (
    <Section title={title}>
      <Unread read={found} rows={3} />
      {found.data !== undefined && (
        <PlainTable
          label={title}
          rows={found.data.items}
          rowKey={({ id }) => id}
          columns={[
            {
              title: one.charAt(0).toUpperCase() + one.slice(1),
              cell: ({ id, title: name }) => (
                <Anchor component={Link} to={to(`${page}/${id}`)} fw={600} size="sm">
                  {name}
                </Anchor>
              ),
            },
            ...columns,
          ]}
          empty={<ListEmpty title={empty} icon="check" />}
        />
      )}
    </Section>
  );
}

/** Risks of a query, each with its rating and its next review. */
export const RiskList = (props: RecordListProps): ReactNode => (
  <RecordList
    {...props}
    kind="risks"
    columns={[
      { title: 'Rating', width: '8rem', cell: ({ current }) => <Score score={current.score} /> },
      {
        title: 'Review',
        width: '9rem',
        cell: ({ nextReviewAt }) => (nextReviewAt === null ? 'None' : <Time value={nextReviewAt} form="ago" />),
      },
    ]}
  />
);

/** Evidence of a query, with its state and its end. */
export const EvidenceList = (props: RecordListProps): ReactNode => (
  <RecordList
    {...props}
    kind="evidence"
    columns={[
      { title: 'State', width: '9rem', cell: ({ state }) => <Status value={state} /> },
      {
        title: 'Valid until',
        width: '9rem',
        cell: ({ validUntil }) => (validUntil === null ? 'No end' : <Time value={validUntil} form="ago" />),
      },
    ]}
  />
);

/** The number of evidence rows in each state. */
export function useEvidenceStates() {
  const { id: orgId, client } = useOrganization();
  const board = useQuery({
    queryKey: ['risks', orgId, 'home', 'board'],
    queryFn: () => dataOf(client.GET('/api/evidence-board')),
  });
  return (state: RiskSchemas['EvidenceState']) => board.data?.states.find((one) => one.state === state)?.count;
}

const LEVELS = ['critical', 'high', 'medium', 'low'] as const;

/** Open risks by level at the end of each of the last twelve months. */
export function RisksOverTime(): ReactNode {
  const { id: orgId, client, to } = useOrganization();
  const trends = useQuery({
    queryKey: ['risks', orgId, 'home', 'trends'],
    queryFn: () => dataOf(client.GET('/api/trends')),
  });
  const months = trends.data?.months ?? [];
  const now = months.at(-1);
  return (
    <Section title="Open risks by rating">
      <Unread read={trends} rows={4} />
      {now !== undefined && (
        <Paper>
          <Columns
            label="Open risks by rating over twelve months"
            parts={[
              { name: 'Low', tone: 'good' },
              { name: 'Medium', tone: 'wait' },
              { name: 'High and critical', tone: 'bad' },
            ]}
            columns={months.map(({ month, low, medium, high, critical }) => ({
              name: formatUtcMonth(new Date(`${month}-01T00:00:00Z`)),
              values: [low, medium, high + critical],
            }))}
          />
          <Text size="sm" fw={600} mt="md" mb="xs">
            Now
          </Text>
          <Bars
            label="Open risks by rating now"
            bars={LEVELS.map((level) => ({
              name: inWords(level),
              value: now[level],
              to: to(`register?level=${level}`),
              tone: level === 'critical' || level === 'high' ? 'bad' : level === 'medium' ? 'wait' : 'good',
            }))}
          />
        </Paper>
      )}
    </Section>
  );
}

/** The coverage of the first requirements. */
export function useCoverage() {
  const { id: orgId, client } = useOrganization();
  return useQuery({
    queryKey: ['risks', orgId, 'home', 'coverage'],
    queryFn: () => dataOf(client.GET('/api/v1/coverage', { params: { query: { limit: 200 } } })),
  });
}

/** Coverage of each framework, of the first requirements. */
export function CoverageByFramework(): ReactNode {
  const { id: orgId, client, to } = useOrganization();
  const frameworks = useQuery({
    queryKey: ['risks', orgId, 'frameworks'],
    queryFn: () => dataOf(client.GET('/api/v1/frameworks', { params: { query: { limit: 200 } } })),
  });
  const coverage = useCoverage();
  const failed = [frameworks, coverage].find(({ isError }) => isError);
  return (
    <Section title="Coverage by framework">
      {failed !== undefined && <Unread read={failed} />}
      {(frameworks.data === undefined || coverage.data === undefined) && failed === undefined && (
        <ListLoading rows={3} />
      )}
      {frameworks.data !== undefined && coverage.data !== undefined && (
        <Paper>
          <Stack gap="md">
            {frameworks.data.items.length === 0 && <Text size="sm">No framework yet.</Text>}
            {frameworks.data.items.map(({ id, name, version }) => {
              const rows = coverage.data.items.filter(({ frameworkId }) => frameworkId === id);
              const of = (state: string) => rows.filter((row) => row.state === state).length;
              return (
                <Stack gap={4} key={id}>
                  <Group justify="space-between" gap="xs">
                    <Anchor component={Link} to={to(`coverage?framework=${id}`)} size="sm" fw={600}>
                      {name} {version}
                    </Anchor>
                    <Text size="sm">
                      {of('covered')} of {rows.length - of('not_applicable')} covered
                    </Text>
                  </Group>
                  <StackedBar
                    label={`${name ?? id}: ${of('covered')} covered, ${of('partial')} partial, ${of('gap')} gaps`}
                    parts={[
                      { value: of('covered'), tone: 'good' },
                      { value: of('partial'), tone: 'wait' },
                      { value: of('gap'), tone: 'bad' },
                    ]}
                  />
                </Stack>
              );
            })}
            {coverage.data.pagination.nextCursor !== null && (
              <Text size="xs" c="dimmed">
                Counted over the first {coverage.data.items.length} requirements.
              </Text>
            )}
          </Stack>
        </Paper>
      )}
    </Section>
  );
}
