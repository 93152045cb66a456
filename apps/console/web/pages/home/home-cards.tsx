import type { ReactNode } from 'react';
import { Anchor, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { formatNumber, formatUtcMonth } from '../../shell/formats.ts';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import type { Total } from '../../shell/total.ts';
import { useOrganization } from '../risks/organization.tsx';
import { KINDS } from '../risks/record-kinds.ts';
import { beginOf } from '../risks/periods.ts';
import { Score, ScoreMove, Status } from '../risks/record-values.tsx';
import { recordPages, type RiskSchemas, type Views } from '../risks/risk-api.ts';
import { inWords } from '../risks/words.ts';
import { Bars, Columns, type ColumnsProps } from './bars.tsx';
import * as texts from './texts.ts';

const SHOWN = '6';

type Query = Readonly<Record<string, string | undefined>>;

interface RecordTableProps<K extends 'risks' | 'evidence'> {
  readonly kind: K;
  readonly title: string;
  readonly empty: string;
  readonly columns: readonly Column<Views[K]>[];
  /** Undefined until `read` has them. */
  readonly rows: readonly Views[K][] | undefined;
  readonly read: Parameters<typeof Unread>[0]['read'];
}

/** The first records of a query, and their total. */
function useRecords<K extends 'risks' | 'evidence'>(kind: K, query: Query) {
  const { inOrg } = useOrganization();
  return useQuery(recordPages(inOrg, kind, { limit: SHOWN, ...query })({}));
}

/** Records, each with a link and further columns. */
function RecordTable<K extends 'risks' | 'evidence'>(props: RecordTableProps<K>): ReactNode {
  const { kind, title, empty, columns, rows, read } = props;
  const { to } = useOrganization();
  const { one, page } = KINDS[kind];
  return (
    <Section title={title}>
      {/* About as high as its rows will be, so that nothing moves when they come. */}
      <Unread read={read} rows={9} />
      {rows !== undefined && (
        <PlainTable
          label={title}
          rows={rows}
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

type RecordListProps<K extends 'risks' | 'evidence'> = Omit<RecordTableProps<K>, 'rows' | 'read'> & {
  readonly query: Query;
};

/** The first records of a query. */
function RecordList<K extends 'risks' | 'evidence'>({ query, ...table }: RecordListProps<K>): ReactNode {
  const found = useRecords(table.kind, query);
  return <RecordTable {...table} rows={found.data?.items} read={found} />;
}

type CardProps = Pick<RecordListProps<'risks'>, 'title' | 'query' | 'empty'>;

/** Risks of a query, each with its rating and its next review. */
export const RiskList = (props: CardProps): ReactNode => (
  <RecordList
    {...props}
    kind="risks"
    columns={[
      { title: texts.rating, width: '8rem', cell: ({ current }) => <Score score={current.score} /> },
      {
        title: texts.review,
        width: '9rem',
        cell: ({ nextReviewAt }) => (nextReviewAt === null ? texts.none : <Time value={nextReviewAt} form="ago" />),
      },
    ]}
  />
);

/** What asks for the risks that got worse in the quarter, the highest first. */
const worseQuery = (): Readonly<Record<string, string>> => ({
  worseSince: beginOf('quarter', Date.now()),
  sort: '-currentScore',
});

/** How many risks got worse in the quarter, and the list of them. */
export function useWorseRisks(): { readonly label: string; readonly value: Total | undefined; readonly to: string } {
  const { to } = useOrganization();
  const query = worseQuery();
  const { total } = useRecords('risks', query).data ?? {};
  return { label: texts.worseThisQuarter, value: total, to: to(`register?${new URLSearchParams(query)}`) };
}

/** Risks that got worse in the quarter, each with what it was. */
export const WorseList = (): ReactNode => (
  <RecordList
    kind="risks"
    title={texts.gotWorseThisQuarter}
    query={worseQuery()}
    empty={texts.noRiskGotWorseThisQuarter}
    columns={[
      {
        title: texts.thenAndNow,
        width: '15rem',
        cell: ({ previous, current }) => <ScoreMove from={previous} to={current} />,
      },
    ]}
  />
);

/** Accepted risks, those first whose acceptance ends first. */
export const AcceptanceList = (): ReactNode => (
  <RecordList
    kind="risks"
    title={texts.acceptancesThatRunOut}
    query={{ status: 'accepted', sort: 'acceptanceExpiresAt' }}
    empty={texts.noRiskIsAccepted}
    columns={[
      { title: texts.rating, width: '8rem', cell: ({ current }) => <Score score={current.score} /> },
      {
        title: texts.acceptedUntil,
        width: '9rem',
        cell: ({ acceptance }) =>
          acceptance === null || acceptance.stale ? (
            <Status value="expired" />
          ) : (
            <Time value={acceptance.expiresAt} form="ago" />
          ),
      },
    ]}
  />
);

const EVIDENCE_COLUMNS: readonly Column<Views['evidence']>[] = [
  { title: texts.state, width: '9rem', cell: ({ state }) => <Status value={state} /> },
  {
    title: texts.validUntil,
    width: '9rem',
    cell: ({ validUntil }) => (validUntil === null ? texts.noEnd : <Time value={validUntil} form="ago" />),
  },
];

/** Evidence of a query, with its state and its end. */
export const EvidenceList = (props: CardProps): ReactNode => (
  <RecordList {...props} kind="evidence" columns={EVIDENCE_COLUMNS} />
);

/** The first evidence of a state in which somebody has to act, as the board has it. */
export function FirstEvidence({
  state,
  ...card
}: Omit<CardProps, 'query'> & { readonly state: RiskSchemas['EvidenceState'] }): ReactNode {
  const board = useEvidenceBoard();
  const rows = board.data?.states.flatMap((one) => (one.state === state ? (one.first ?? []) : []));
  return <RecordTable {...card} kind="evidence" columns={EVIDENCE_COLUMNS} rows={rows} read={board} />;
}

function useEvidenceBoard() {
  const { inOrg } = useOrganization();
  return api.useQuery('get', '/api/risk-partner/api/evidence-board', { ...inOrg, params: { query: { cards: SHOWN } } });
}

/** The number of evidence rows in each state. */
export function useEvidenceStates() {
  const { data } = useEvidenceBoard();
  return (state: RiskSchemas['EvidenceState']) => data?.states.find((one) => one.state === state)?.count;
}

const LEVELS = ['critical', 'high', 'medium', 'low'] as const;

const nameOf = (month: string): string => formatUtcMonth(new Date(`${month}-01T00:00:00Z`));

/** Open risks by level at the end of each of the last twelve months. */
export function RisksOverTime(): ReactNode {
  const { to } = useOrganization();
  const trends = useTrends();
  const months = trends.data?.months ?? [];
  const now = months.at(-1);
  return (
    <Section title={texts.openRisksByRating}>
      <Unread read={trends} rows={4} />
      {now !== undefined && (
        <Paper>
          <Months
            label={texts.openRisksByRatingOverTime}
            parts={[
              { name: texts.low, tone: 'good' },
              { name: texts.medium, tone: 'wait' },
              { name: texts.highAndCritical, tone: 'bad' },
            ]}
            columns={months.map(({ month, low, medium, high, critical }) => ({
              month,
              values: [low, medium, high + critical],
            }))}
          />
          <Text size="sm" fw={600} mt="md" mb="xs">
            {texts.now}
          </Text>
          <Bars
            label={texts.openRisksByRatingNow}
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

/** Risks by level and coverage of each framework at the end of each of the last twelve months, of which the last is now. */
export function useTrends() {
  const { inOrg } = useOrganization();
  return api.useQuery('get', '/api/risk-partner/api/trends', { ...inOrg });
}

/** Coverage of each framework now, and over twelve months. */
export function CoverageByFramework(): ReactNode {
  const trends = useTrends();
  return (
    <Section title={texts.coverageByFramework}>
      <Unread read={trends} rows={3} />
      {trends.data !== undefined && (
        <Paper>
          <Stack gap="xl">
            {trends.data.frameworks.length === 0 && <Text size="sm">{texts.noFrameworkYet}</Text>}
            {trends.data.frameworks.map((framework) => (
              <FrameworkCoverage key={framework.id} framework={framework} />
            ))}
          </Stack>
        </Paper>
      )}
    </Section>
  );
}

function FrameworkCoverage({ framework }: { readonly framework: RiskSchemas['FrameworkTrend'] }): ReactNode {
  const { to } = useOrganization();
  const { id, name, version, months } = framework;
  const { covered = 0, partial = 0, gap = 0 } = months.at(-1) ?? {};
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <Anchor component={Link} to={to(`coverage?framework=${id}`)} size="sm" fw={600} className="wrap">
          {name} {version}
        </Anchor>
        <Text size="sm">{texts.coveredNow(formatNumber(covered), formatNumber(covered + partial + gap))}</Text>
      </Group>
      <Months
        label={texts.coverageOverTime(name)}
        low
        parts={[
          { name: texts.covered, tone: 'good' },
          { name: texts.partial, tone: 'wait' },
          { name: texts.gap, tone: 'bad' },
        ]}
        columns={months.map(({ month, ...counts }) => ({
          month,
          values: [counts.covered, counts.partial, counts.gap],
        }))}
      />
    </Stack>
  );
}

type MonthsProps = Pick<ColumnsProps, 'label' | 'parts' | 'low'> & {
  readonly columns: readonly { readonly month: string; readonly values: readonly number[] }[];
};

/** The months from the first with anything to count; of a single one there is nothing to draw yet. */
function Months({ columns, ...chart }: MonthsProps): ReactNode {
  const first = columns.findIndex(({ values }) => values.some((value) => value > 0));
  const begun = first === -1 ? [] : columns.slice(first);
  if (begun.length > 1)
    return <Columns {...chart} columns={columns.map(({ month, values }) => ({ name: nameOf(month), values }))} />;
  const [only] = begun;
  return (
    <Text size="sm" c="dimmed">
      {only === undefined ? texts.nothingIsCountedYet : texts.countedSince(nameOf(only.month))}
    </Text>
  );
}
