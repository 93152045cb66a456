import { useState, type FormEvent, type ReactNode } from 'react';
import { Anchor, Button, Group, NativeSelect, Paper, SimpleGrid, Switch, Text, TextInput } from '@mantine/core';
import { Link, useNavigate } from 'react-router';
import { listed } from '../../shell/api.ts';
import { CursorTable, PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { StateBadge, type Tone } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { FilterBox } from '../filter-bar.tsx';
import { useNetworkName } from '../networks/network-names.ts';
import { titleOf } from '../networks/refusal-words.ts';
import { pathOfRefused, RefusedState } from '../networks/refused-table.tsx';
import { DataViewTabs } from './data-view-tabs.tsx';
import { idOf, type IngestEvent, isRefused, type TailRow, useLiveTail } from './live-tail.ts';
import * as texts from './texts.ts';

const tones: Readonly<Record<IngestEvent['status'], Tone>> = { committed: 'good', rejected: 'bad', unknown: 'wait' };
const filterNames = [
  ...(['networkId', 'channel', 'type', 'status', 'kind', 'from', 'to', 'requestId'] as const),
  ...(['recordId', 'deliveryId', 'live'] as const),
] as const;
type Filters = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

/** The outcome of a write, as word and shape; `unknown` is no failure. */
export const EventState = ({ status }: { status: IngestEvent['status'] }): ReactNode => (
  <StateBadge tone={tones[status]}>{status}</StateBadge>
);

const SHOWN_RECORDS = 3;

function columnsOf(nameOf: (networkId: string) => string): readonly Column<TailRow>[] {
  return [
    {
      title: texts.event,
      sort: '-at',
      cell: (row) => (
        <Anchor
          component={Link}
          to={isRefused(row) ? pathOfRefused(row) : `/events/${encodeURIComponent(row.eventId)}`}
          size="sm"
        >
          <Time value={row.at} />
        </Anchor>
      ),
    },
    {
      title: texts.state,
      width: '8.5rem',
      cell: (row) => (isRefused(row) ? <RefusedState {...row} /> : <EventState status={row.status} />),
    },
    { title: texts.network, cell: ({ networkId }) => nameOf(networkId) },
    { title: texts.types, cell: (row) => (isRefused(row) ? titleOf(row.reason, row.code) : typesIn(row)) },
    { title: texts.records, cell: (row) => (isRefused(row) ? texts.ofSource(row.sourceName) : recordsIn(row)) },
  ];
}

const typesIn = ({ types, kind }: IngestEvent): string =>
  kind === 'ping' ? 'ping' : types.slice(0, SHOWN_RECORDS).join(', ');

function recordsIn({ records }: IngestEvent): string {
  const first = records.slice(0, SHOWN_RECORDS).map(({ id }) => id);
  const shown = first.join(', ');
  const more = records.length - SHOWN_RECORDS;
  return more > 0 ? texts.listAndMore(shown, more) : shown;
}

/** Events, newest first; with `live` they are streamed. */
export function EventList(): ReactNode {
  const [filters, setFilters] = useUrlFilters(filterNames);
  const isLive = filters.live === '1';
  return (
    <Page
      title={texts.dataView}
      intro={texts.dataViewIntro}
      actions={
        <Switch
          label={texts.live}
          checked={isLive}
          onChange={(event) => setFilters({ live: event.currentTarget.checked ? '1' : null })}
        />
      }
    >
      <DataViewTabs />
      <Search filters={filters} onChange={setFilters} />
      {isLive ? <LiveList filters={filters} /> : <PagedList filters={filters} />}
    </Page>
  );
}

/** Converts local times to the instants that the service expects. */
const instant = (local: string | undefined): string | undefined => {
  const date = new Date(local ?? '');
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
};

function queryOf({ live: _live, from, to, ...rest }: Filters): Record<string, string> {
  const times = { from: instant(from), to: instant(to) };
  return Object.fromEntries(
    Object.entries({ ...rest, ...times }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function PagedList({ filters }: { filters: Filters }): ReactNode {
  const query = queryOf(filters);
  const nameOf = useNetworkName();
  const mayChange = useMayAdmin('ingest-gateway', 'admin:change');
  return (
    <CursorTable<TailRow>
      label={texts.events}
      isDense
      tools={{
        order: '-at',
        exports: mayChange
          ? { path: '/admin/ingest-gateway/admin/v1/events/export', query, name: 'events' }
          : undefined,
      }}
      page={listed('/admin/ingest-gateway/admin/v1/events', { query })}
      rowKey={idOf}
      columns={columnsOf(nameOf)}
      empty={
        <ListEmpty title={texts.noSuchEvent} icon="events">
          {Object.keys(query).length === 0 ? texts.noEventYetHint : texts.noSuchEventHint}
        </ListEmpty>
      }
    />
  );
}

function LiveList({ filters }: { filters: Filters }): ReactNode {
  const {
    from: _from,
    to: _to,
    requestId: _requestId,
    recordId: _recordId,
    deliveryId: _deliveryId,
    ...tailed
  } = queryOf(filters);
  const { events, state, missed, again } = useLiveTail(tailed);
  const nameOf = useNetworkName();
  return (
    <>
      <Group gap="xs" role="status">
        {state === 'refused' ? (
          <>
            <StateBadge tone="bad">{texts.notLiveTheServiceRefused}</StateBadge>
            <Button size="compact-sm" variant="default" onClick={again}>
              {texts.connectAgain}
            </Button>
          </>
        ) : (
          <StateBadge tone={state === 'open' ? 'good' : 'wait'}>
            {state === 'open' ? texts.watching : texts.connecting}
          </StateBadge>
        )}
        {missed && <Text size="sm">{texts.someEventsMayBeMissingHere}</Text>}
      </Group>
      <PlainTable
        label={texts.eventsAsTheyAreWritten}
        rows={events}
        isDense
        rowKey={idOf}
        columns={columnsOf(nameOf)}
        empty={
          <ListEmpty title={texts.waitingForTheNextEvent} icon="live">
            {texts.waitingForTheNextEventHint}
          </ListEmpty>
        }
      />
    </>
  );
}

type SetFilters = (changes: Partial<Record<(typeof filterNames)[number], string | null>>) => void;

function Search({ filters, onChange }: { filters: Filters; onChange: SetFilters }): ReactNode {
  const navigate = useNavigate();
  const [id, setId] = useState(filters.requestId ?? '');
  const find = (event: FormEvent): void => {
    event.preventDefault();
    const wanted = id.trim();
    if (wanted.startsWith('evt_')) void navigate(`/events/${encodeURIComponent(wanted)}`);
    // The service accepts a request id alone, or with a network.
    else
      onChange({
        requestId: wanted,
        channel: null,
        type: null,
        status: null,
        kind: null,
        recordId: null,
        deliveryId: null,
        from: null,
        to: null,
        live: null,
      });
  };
  const isFiltered = Object.keys(filters).some((name) => name !== 'live');
  return (
    <Paper>
      <form onSubmit={find}>
        <Group align="flex-end" gap="xs" mb="sm">
          <TextInput
            label={texts.eventOrRequestId}
            flex="1 1 16rem"
            value={id}
            onChange={(event) => setId(event.currentTarget.value)}
          />
          <Button type="submit" variant="default">
            {texts.find}
          </Button>
          {isFiltered && (
            <Button
              variant="subtle"
              onClick={() => {
                setId('');
                onChange(
                  Object.fromEntries(
                    filterNames.map((name) => [name, name === 'live' ? (filters.live ?? null) : null]),
                  ),
                );
              }}
            >
              {texts.clearAllFilters}
            </Button>
          )}
        </Group>
      </form>
      <FilterBox count={Object.keys(queryOf(filters)).length}>
        <FilterFields filters={filters} onChange={onChange} />
      </FilterBox>
    </Paper>
  );
}

const FilterFields = ({ filters, onChange }: { filters: Filters; onChange: SetFilters }): ReactNode => (
  <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm" w="100%">
    <FilterText label={texts.network} name="networkId" filters={filters} onChange={onChange} />
    <FilterText label={texts.channelNetworkName} name="channel" filters={filters} onChange={onChange} />
    <FilterText label={texts.type} name="type" filters={filters} onChange={onChange} />
    <FilterText label={texts.recordId} name="recordId" filters={filters} onChange={onChange} />
    <FilterText label={texts.deliveryIdOfTheSender} name="deliveryId" filters={filters} onChange={onChange} />
    <NativeSelect
      label={texts.state}
      data={[{ value: '', label: texts.any }, 'committed', 'rejected', 'unknown']}
      value={filters.status ?? ''}
      onChange={(event) => onChange({ status: event.currentTarget.value })}
    />
    <NativeSelect
      label={texts.kind}
      data={[{ value: '', label: texts.any }, 'write', 'ping']}
      value={filters.kind ?? ''}
      onChange={(event) => onChange({ kind: event.currentTarget.value })}
    />
    <TextInput
      type="datetime-local"
      label={texts.from}
      value={filters.from ?? ''}
      onChange={(event) => onChange({ from: event.currentTarget.value })}
    />
    <TextInput
      type="datetime-local"
      label={texts.to}
      value={filters.to ?? ''}
      onChange={(event) => onChange({ to: event.currentTarget.value })}
    />
  </SimpleGrid>
);

interface FilterTextProps {
  readonly label: string;
  readonly name: 'networkId' | 'channel' | 'type' | 'recordId' | 'deliveryId';
  readonly filters: Filters;
  readonly onChange: SetFilters;
}

/** A filter that is applied on Enter or blur, not on every keystroke. */
function FilterText({ label, name, filters, onChange }: FilterTextProps): ReactNode {
  const set = filters[name] ?? '';
  return (
    <TextInput
      key={set}
      label={label}
      defaultValue={set}
      onBlur={(event) => event.currentTarget.value !== set && onChange({ [name]: event.currentTarget.value })}
      onKeyDown={(event) => event.key === 'Enter' && onChange({ [name]: event.currentTarget.value })}
    />
  );
}
