import type { ReactNode } from 'react';
import { Anchor, Button, Group, NativeSelect, Paper, SegmentedControl, SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { Link, useNavigate, useParams } from 'react-router';
import { listed } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable, type Column } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Fact, Page } from '../../shell/page.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { StateBadge, type Tone } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { FilterBox, TextFilter } from '../filter-bar.tsx';
import { RowMenu } from '../row-menu.tsx';
import { provableEvent } from '../prove/provable.ts';
import { ProveButton } from '../prove/prove-button.tsx';
import { ActivityChart } from './activity-chart.tsx';
import { useGatewayAddress } from './curl-line.ts';
import * as texts from './delivery-texts.ts';
import { useNetworkName } from './network-names.ts';
import { RaisedTolerance } from './raised-tolerance.tsx';
import {
  FailureGroups,
  instantOf,
  PeriodFilter,
  RefusedFilterFields,
  refusedFilterNames,
  RefusedTable,
  setOnly,
} from './refused-table.tsx';
import { titleOf } from './refusal-words.ts';
import { sourceActions, useSourceDialogs } from './source-dialogs.tsx';
import { sourceQuery, type Source } from './source-presets.ts';

type Delivery = Schemas['ingestGatewayAdmin']['SourceDelivery'];

/** A source as the pages below `/networks/:networkId/sources/:sourceId` show it. */
export const useSource = (networkId: string, sourceId: string) => useQuery(sourceQuery({ networkId, sourceId }));

const filterNames = ['show', 'per', 'outcome', ...refusedFilterNames] as const;
type Filters = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

const SHOWN = [
  { value: 'refused', label: texts.refused },
  { value: 'all', label: texts.allOutcomes },
  { value: 'same', label: texts.sameFailures },
];

/** The deliveries of one source: what was refused and why, every outcome, and the same failures in groups. */
export function DeliveriesPage(): ReactNode {
  const { networkId = '', sourceId = '' } = useParams();
  const source = useSource(networkId, sourceId);
  const nameOf = useNetworkName();
  const above = [
    { title: texts.networksAndKeys, to: '/networks' },
    { title: nameOf(networkId), to: `/networks/${networkId}` },
  ];
  if (source.data === undefined) {
    return (
      <Page title={texts.deliveries} above={above}>
        <Unread read={source} />
      </Page>
    );
  }
  return <Shown source={source.data} above={above} />;
}

function Shown({
  source,
  above,
}: {
  readonly source: Source;
  readonly above: readonly { readonly title: string; readonly to: string }[];
}): ReactNode {
  const { networkId, sourceId } = source;
  const [filters, setFilters] = useUrlFilters(filterNames);
  const mayChange = useMayAdmin('ingest-gateway', 'admin:change');
  const { show = 'refused', per, outcome: _, ...refused } = filters;
  const of = { networkId, sourceId };
  return (
    <Page title={source.name} above={above} actions={<Actions source={source} />}>
      <RaisedTolerance source={source} mayChange={mayChange} />
      <About source={source} />
      <ActivityChart {...of} per={per === 'day' ? 'day' : 'hour'} onPer={(next) => setFilters({ per: next })} />
      <SegmentedControl
        aria-label={texts.whatToList}
        data={SHOWN}
        value={SHOWN.some(({ value }) => value === show) ? show : 'refused'}
        onChange={(value) => setFilters({ show: value, sort: null })}
        style={{ alignSelf: 'flex-start' }}
      />
      {show === 'all' && <Outcomes of={of} filters={filters} onChange={setFilters} />}
      {show === 'same' && (
        <>
          <Group gap="sm">
            <PeriodFilter from={filters.from} to={filters.to} onChange={setFilters} />
          </Group>
          <FailureGroups of={of} from={filters.from} to={filters.to} />
        </>
      )}
      {show !== 'all' && show !== 'same' && (
        <>
          <RefusedFilterFields of={of} filters={refused} onChange={setFilters} />
          <RefusedTable of={of} filters={refused} />
        </>
      )}
    </Page>
  );
}

function Actions({ source }: { readonly source: Source }): ReactNode {
  const navigate = useNavigate();
  const mayChange = useMayAdmin('ingest-gateway', 'admin:change');
  const { open, dialog } = useSourceDialogs(() => void navigate(`/networks/${source.networkId}`));
  if (!mayChange) return null;
  const [edit, secrets, ...rest] = sourceActions(source);
  return (
    <>
      {[edit, secrets].map(
        (action) =>
          action && (
            <Button key={action[0]} variant="default" onClick={() => open(action[0], source)}>
              {action[1]}
            </Button>
          ),
      )}
      <RowMenu
        label={texts.moreActions}
        actions={rest.map(([action, title]) => ({
          title,
          onClick: () => open(action, source),
          ...(action === 'delete' && { tone: 'danger' }),
        }))}
      />
      {dialog}
    </>
  );
}

function About({ source }: { readonly source: Source }): ReactNode {
  const address = useGatewayAddress();
  return (
    <Paper>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="md">
        <Fact label={texts.state}>
          <SourceState source={source} />
        </Fact>
        <Fact label={texts.scheme}>{source.scheme}</Fact>
        <Fact label={texts.addressForTheSender}>
          <CodeText value={source.url ?? `${address}${source.path}`} label={texts.copyTheAddress} short={30} />
        </Fact>
        <Fact label={texts.refusedDeliveriesAreKept}>
          {source.keepRefusedHours === 0 ? texts.notAtAll : texts.keptHours(source.keepRefusedHours)}
        </Fact>
      </SimpleGrid>
    </Paper>
  );
}

export const SourceState = ({
  source: { enabled, usualToleranceSeconds },
}: {
  readonly source: Pick<Source, 'enabled' | 'usualToleranceSeconds'>;
}): ReactNode => (
  <Group gap={4}>
    {enabled ? (
      <StateBadge tone="good">{texts.enabled}</StateBadge>
    ) : (
      <StateBadge tone="wait">{texts.paused}</StateBadge>
    )}
    {usualToleranceSeconds !== null && <StateBadge tone="wait">{texts.toleranceRaised}</StateBadge>}
  </Group>
);

const TONES: Readonly<Record<Delivery['outcome'], Tone>> = {
  written: 'good',
  replayed: 'plain',
  unknown: 'wait',
  conflict: 'bad',
  refused: 'bad',
};

const outcomeColumns: readonly Column<Delivery>[] = [
  { title: texts.when, width: '9rem', sort: '-at', cell: ({ at }) => <Time value={at} form="ago" /> },
  {
    title: texts.outcome,
    width: '8.5rem',
    cell: ({ outcome: end }) => <StateBadge tone={TONES[end]}>{end}</StateBadge>,
  },
  { title: texts.why, cell: ({ reason, code }) => titleOf(reason, code) },
  { title: texts.howMany, width: '6.5rem', align: 'right', cell: ({ deliveries }) => formatNumber(deliveries) },
  { title: texts.types, cell: ({ types }) => types.join(', ') },
  { title: texts.record, cell: ({ records }) => <RecordLinks records={records} /> },
  {
    title: texts.proof,
    width: '7rem',
    cell: ({ eventId, records }) =>
      eventId !== null && records.length > 0 && <ProveButton of={provableEvent(eventId)} what={eventId} />,
  },
  {
    title: texts.eventOrRequest,
    width: '12rem',
    cell: ({ eventId, requestId }) =>
      eventId === null ? (
        <CodeText value={requestId} label={texts.copyTheRequestId} short={14} />
      ) : (
        <Anchor component={Link} to={`/events/${encodeURIComponent(eventId)}`} size="sm">
          {texts.event}
        </Anchor>
      ),
  },
];

function Outcomes({
  of,
  filters,
  onChange,
}: {
  readonly of: { readonly networkId: string; readonly sourceId: string };
  readonly filters: Filters;
  readonly onChange: (changes: Partial<Record<(typeof filterNames)[number], string | null>>) => void;
}): ReactNode {
  const { outcome, deliveryId, from, to } = filters;
  const mayChange = useMayAdmin('ingest-gateway', 'admin:change');
  const query = setOnly({ outcome, deliveryId, from: instantOf(from), to: instantOf(to) });
  return (
    <>
      <FilterBox count={Object.keys(query).length}>
        <NativeSelect
          label={texts.outcome}
          data={[{ value: '', label: texts.any }, ...Object.keys(TONES)]}
          value={outcome ?? ''}
          onChange={(event) => onChange({ outcome: event.currentTarget.value })}
        />
        <TextFilter label={texts.providersId} value={deliveryId} onSet={(id) => onChange({ deliveryId: id })} />
        <PeriodFilter from={from} to={to} onChange={onChange} />
      </FilterBox>
      <CursorTable
        label={texts.deliveries}
        isDense
        tools={{
          order: '-at',
          exports: mayChange
            ? {
                path: `/admin/ingest-gateway/admin/v1/networks/${of.networkId}/sources/${of.sourceId}/deliveries/export`,
                query,
                name: 'deliveries',
              }
            : undefined,
        }}
        page={listed('/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}/deliveries', {
          path: of,
          query,
        })}
        rowKey={({ at, requestId, outcome: end }) => `${at} ${requestId} ${end}`}
        columns={outcomeColumns}
        empty={
          <ListEmpty
            title={Object.keys(query).length === 0 ? texts.nothingWasDeliveredYet : texts.noSuchDelivery}
            icon="live"
          />
        }
      />
    </>
  );
}

const SHOWN_CHARACTERS = 18;

/** Links to the proofs of records. */
export const RecordLinks = ({ records }: { readonly records: Delivery['records'] }): ReactNode =>
  records.length > 0 && (
    <span>
      {records.map(({ id, channel }) => (
        <Anchor
          key={`${channel} ${id}`}
          component={Link}
          to={`/ledger/${encodeURIComponent(channel)}/${encodeURIComponent(id)}?by=ingest-gateway`}
          size="sm"
          mr={6}
          title={id}
        >
          {id.length > SHOWN_CHARACTERS ? `${id.slice(0, SHOWN_CHARACTERS)}…` : id}
        </Anchor>
      ))}
    </span>
  );

export const Quiet = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <Text size="sm" c="dimmed">
    {children}
  </Text>
);
