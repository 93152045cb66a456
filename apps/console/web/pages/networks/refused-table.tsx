import type { ReactNode } from 'react';
import { Anchor, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { Link } from 'react-router';
import { api, listed } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable, PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { formatNumber, formatSpan } from '../../shell/formats.ts';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { FilterBox, TextFilter } from '../filter-bar.tsx';
import * as texts from './delivery-texts.ts';
import { reasonChoices, titleOf, wordsOf } from './refusal-words.ts';
import { useNetworkName } from './network-names.ts';

export type RefusedOfSource = Schemas['ingestGatewayAdmin']['RefusedDeliveryOfSource'];

export const refusedFilterNames = ['reason', 'deliveryId', 'requestId', 'from', 'to', 'sort'] as const;
export type RefusedFilters = Readonly<Partial<Record<(typeof refusedFilterNames)[number], string>>>;
type SetFilters = (changes: Partial<Record<(typeof refusedFilterNames)[number], string | null>>) => void;

/** Which sources a list is about; without a member: all. */
export interface OfSources {
  readonly networkId?: string | undefined;
  readonly sourceId?: string | undefined;
}

/** The page of a refused delivery. */
export const pathOfRefused = ({ networkId, sourceId, refusedId }: RefusedOfSource): string =>
  `/networks/${networkId}/sources/${sourceId}/deliveries/${refusedId}`;

/** Converts local times to the instants that the service expects. */
export function instantOf(local: string | undefined): string | undefined {
  const date = new Date(local ?? '');
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Parameters of a query without those that are not set. */
export const setOnly = (query: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1])));

/** Whether processing it again left nothing to do. */
export const isMended = ({ outcome }: Pick<RefusedOfSource, 'outcome'>): boolean =>
  ['written', 'replayed', 'answered'].includes(outcome ?? '');

/** What became of a refused delivery since. */
export const RefusedState = ({ outcome }: Pick<RefusedOfSource, 'outcome'>): ReactNode => {
  if (outcome === null) return <StateBadge tone="bad">{texts.stateRefused}</StateBadge>;
  const isDone = isMended({ outcome });
  return <StateBadge tone={isDone ? 'good' : 'bad'}>{isDone ? texts.mended : texts.refusedAgain}</StateBadge>;
};

const skewOf = (seconds: number): string =>
  seconds < 0 ? texts.spanBehind(formatSpan(seconds)) : texts.spanAhead(formatSpan(seconds));

const whenColumn: Column<RefusedOfSource> = {
  title: texts.when,
  width: '9rem',
  cell: ({ at }) => <Time value={at} form="ago" />,
};
const whyColumn: Column<RefusedOfSource> = {
  title: texts.why,
  cell: (row) => (
    <Group gap={6} wrap="wrap">
      <Anchor component={Link} to={pathOfRefused(row)} size="sm" fw={600}>
        {titleOf(row.reason, row.code)}
      </Anchor>
      {row.skewSeconds !== null && <Text size="xs">{skewOf(row.skewSeconds)}</Text>}
      {row.header !== null && <Text size="xs">{row.header}</Text>}
      {row.pointer !== null && <Text size="xs">{row.pointer}</Text>}
    </Group>
  ),
};
const moreColumns: readonly Column<RefusedOfSource>[] = [
  {
    title: texts.providersId,
    width: '11.5rem',
    cell: ({ deliveryId }) =>
      deliveryId !== null && <CodeText value={deliveryId} label={texts.copyTheDeliveryId} short={16} />,
  },
  { title: texts.state, width: '8.5rem', cell: (row) => <RefusedState {...row} /> },
  {
    title: texts.keptUntil,
    width: '7.5rem',
    cell: ({ keptUntil }) => keptUntil !== null && <Time value={keptUntil} form="ago" />,
  },
];

/** Refused deliveries, newest first, of one source or of all; each links to its page. */
export function RefusedTable({ of, filters }: { readonly of: OfSources; readonly filters: RefusedFilters }): ReactNode {
  const nameOf = useNetworkName();
  const query = queryOf(of, filters);
  const sourceColumn: Column<RefusedOfSource> = {
    title: texts.source,
    cell: ({ networkId, sourceId, sourceName }) => (
      <Text size="sm" truncate maw="min(16rem, 100%)" title={texts.sourceOf(sourceName, nameOf(networkId))}>
        <Anchor
          component={Link}
          to={`/networks/${networkId}/sources/${sourceId}/deliveries`}
          size="sm"
          underline="always"
        >
          {sourceName}
        </Anchor>{' '}
        <Text span size="xs" c="dimmed">
          {nameOf(networkId)}
        </Text>
      </Text>
    ),
  };
  return (
    <CursorTable
      label={texts.refusedDeliveries}
      isDense
      page={listed('/admin/ingest-gateway/admin/v1/refused', { query })}
      rowKey={({ refusedId }) => refusedId}
      columns={[whenColumn, ...(of.sourceId === undefined ? [sourceColumn] : []), whyColumn, ...moreColumns]}
      empty={
        <ListEmpty title={texts.nothingWasRefused} icon="live">
          {Object.keys(filters).length === 0 ? texts.nothingWasRefusedHint : texts.noRefusedMatchesFilters}
          {filters.deliveryId !== undefined && (
            <>
              {' '}
              <Anchor component={Link} to={acceptedWith(of, filters.deliveryId)} size="sm" inherit>
                {texts.lookForItAmongAcceptedOnes}
              </Anchor>
            </>
          )}
        </ListEmpty>
      }
    />
  );
}

/** Where accepted deliveries with the provider's id are: among those of the source, or in the data view. */
function acceptedWith({ networkId, sourceId }: OfSources, deliveryId: string): string {
  if (networkId === undefined || sourceId === undefined) return `/events?${new URLSearchParams({ deliveryId })}`;
  return `/networks/${networkId}/sources/${sourceId}/deliveries?${new URLSearchParams({ show: 'all', deliveryId })}`;
}

const queryOf = (of: OfSources, { from, to, ...rest }: RefusedFilters): Record<string, string> =>
  setOnly({ ...of, ...rest, from: instantOf(from), to: instantOf(to) });

/** From and to, in the reader's time. */
export const PeriodFilter = ({
  from = '',
  to = '',
  onChange,
}: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly onChange: (changes: { from?: string; to?: string }) => void;
}): ReactNode => (
  <>
    <TextInput
      type="datetime-local"
      label={texts.from}
      value={from}
      onChange={(event) => onChange({ from: event.currentTarget.value })}
    />
    <TextInput
      type="datetime-local"
      label={texts.to}
      value={to}
      onChange={(event) => onChange({ to: event.currentTarget.value })}
    />
  </>
);

/** The filters of refused deliveries, kept in the address, and the export of what they find. */
export function RefusedFilterFields({
  of,
  filters,
  onChange,
}: {
  readonly of: OfSources;
  readonly filters: RefusedFilters;
  readonly onChange: SetFilters;
}): ReactNode {
  const mayExport = useMayAdmin('ingest-gateway', 'admin:change');
  const exported = new URLSearchParams({ format: 'csv', ...queryOf(of, filters) });
  return (
    <FilterBox count={Object.keys(queryOf({}, filters)).length}>
      <NativeSelect
        label={texts.reason}
        data={[{ value: '', label: texts.any }, ...reasonChoices]}
        value={filters.reason ?? ''}
        onChange={(event) => onChange({ reason: event.currentTarget.value })}
      />
      <TextFilter
        label={texts.providersId}
        value={filters.deliveryId}
        onSet={(deliveryId) => onChange({ deliveryId })}
      />
      <TextFilter label={texts.requestId} value={filters.requestId} onSet={(requestId) => onChange({ requestId })} />
      <PeriodFilter from={filters.from} to={filters.to} onChange={onChange} />
      <NativeSelect
        label={texts.order}
        data={[
          { value: '', label: texts.newestFirst },
          { value: 'at', label: texts.oldestFirst },
        ]}
        value={filters.sort ?? ''}
        onChange={(event) => onChange({ sort: event.currentTarget.value })}
      />
      {mayExport && (
        <Button
          component="a"
          variant="default"
          download
          href={`/admin/ingest-gateway/admin/v1/refused/export?${exported.toString()}`}
        >
          {texts.exportCsv}
        </Button>
      )}
    </FilterBox>
  );
}

const DAY_MS = 86_400_000;

/** The same failures in one row, of the time that is filtered for or of the last 14 days. */
export function FailureGroups({
  of,
  from,
  to,
}: {
  readonly of: OfSources;
  readonly from: string | undefined;
  readonly to: string | undefined;
}): ReactNode {
  const nameOf = useNetworkName();
  // By the hour, so that the key of the query stays the same for a while.
  const earliest = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 14 * DAY_MS;
  const query = setOnly({ ...of, from: instantOf(from) ?? new Date(earliest).toISOString(), to: instantOf(to) });
  const groups = api.useQuery('get', '/admin/ingest-gateway/admin/v1/refused/groups', { params: { query } });
  if (groups.data === undefined) return <Unread read={groups} />;
  return (
    <PlainTable
      label={texts.theSameFailures}
      isDense
      rows={groups.data.items}
      rowKey={({ sourceId, code, reason }) => `${sourceId} ${code} ${reason}`}
      columns={[
        {
          title: texts.why,
          cell: ({ reason, code }) => (
            <Text size="sm" fw={600} title={wordsOf(reason)?.todo}>
              {titleOf(reason, code)}
            </Text>
          ),
        },
        ...(of.sourceId === undefined
          ? [
              {
                title: texts.source,
                cell: ({ sourceName, networkId }: { sourceName: string; networkId: string }) =>
                  `${sourceName} (${nameOf(networkId)})`,
              },
            ]
          : []),
        { title: texts.howMany, width: '7rem', align: 'right', cell: ({ deliveries }) => formatNumber(deliveries) },
        { title: texts.first, width: '10rem', cell: ({ firstAt }) => <Time value={firstAt} form="ago" /> },
        { title: texts.last, width: '10rem', cell: ({ lastAt }) => <Time value={lastAt} form="ago" /> },
        {
          title: texts.example,
          width: '8rem',
          cell: ({ networkId, sourceId, exampleId, reason, code }) =>
            exampleId !== null && (
              <Anchor
                component={Link}
                to={`/networks/${networkId}/sources/${sourceId}/deliveries/${exampleId}`}
                size="sm"
                aria-label={texts.newestOf(titleOf(reason, code))}
              >
                {texts.theNewest}
              </Anchor>
            ),
        },
      ]}
      empty={<ListEmpty title={texts.noFailures} icon="live" />}
    />
  );
}
