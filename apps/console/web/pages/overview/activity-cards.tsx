import type { ReactNode } from 'react';
import { Anchor, Paper, SimpleGrid, Text } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatNumber, formatWeekdayHour } from '../../shell/formats.ts';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { localTime } from '../../shell/local-time.ts';
import { useMayAdmin, useMine } from '../../shell/mine.ts';
import { Section } from '../../shell/page.tsx';
import { Bars, Columns } from '../home/bars.tsx';
import { isReason, titleOf } from '../networks/refusal-words.ts';
import * as texts from './texts.ts';

const REFRESH_MS = 60_000;
const HOURS = 24;
const HOUR_MS = 3_600_000;
const VENUES = 10;

/** The beginnings of all hours from a time on, with their names. */
const hoursFrom = (from: string): { readonly at: string; readonly name: string }[] =>
  Array.from({ length: HOURS }, (_, n) => {
    const at = new Date(Date.parse(from) + n * HOUR_MS);
    return { at: at.toISOString(), name: formatWeekdayHour(at) };
  });

/** What the services of an operator wrote, refused and decided in the last day. */
export function ActivityCards(): ReactNode {
  const { mine } = useMine();
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      {mine?.admin('ingest-gateway', 'admin:read') === true && <Writes />}
      {mine?.admin('case-gate', 'cases:read') === true && <Decisions />}
    </SimpleGrid>
  );
}

/** The list of what was refused for a reason since; refusals that are only counted have none. */
const refusedFor = (reason: string, from: string): { readonly to?: string } =>
  isReason(reason) ? { to: `/events/refused?${new URLSearchParams({ reason, from: localTime(from) })}` } : {};

function Writes(): ReactNode {
  const found = api.useQuery('get', '/admin/ingest-gateway/admin/v1/activity', {}, { refetchInterval: REFRESH_MS });
  if (found.data === undefined)
    return (
      <Section title={texts.writesAndRefusedDeliveries}>
        <Unread read={found} rows={4} />
      </Section>
    );
  const { from, hours, refusals, refusalsAreMore } = found.data;
  const byReason = new Map<string, number>();
  for (const { reason, deliveries } of refusals) byReason.set(reason, (byReason.get(reason) ?? 0) + deliveries);
  const refusedAt = (at: string) =>
    refusals.filter((row) => row.at === at).reduce((sum, { deliveries }) => sum + deliveries, 0);
  const writtenAt = new Map(hours.map(({ at, writes }) => [at, writes]));
  return (
    <Section title={texts.writesAndRefusedDeliveries}>
      <Paper>
        <Columns
          label={texts.writesAndRefusedDeliveriesByHour}
          parts={[
            { name: texts.written, tone: 'good' },
            { name: texts.refused, tone: 'bad' },
          ]}
          columns={hoursFrom(from).map(({ at, name }) => ({ name, values: [writtenAt.get(at) ?? 0, refusedAt(at)] }))}
        />
        {hours.some(({ isMore }) => isMore) && (
          <Text size="xs" c="dimmed" mt="xs">
            {texts.hoursAreCut}
          </Text>
        )}
        <Text size="sm" fw={600} mt="md" mb="xs">
          {texts.refusedDeliveriesByReason}
        </Text>
        {byReason.size === 0 ? (
          <Text size="sm">{texts.noneInTheLastDay}</Text>
        ) : (
          <Bars
            label={texts.refusedDeliveriesByReason}
            bars={[...byReason]
              .sort(([, one], [, other]) => other - one)
              .slice(0, 8)
              .map(([reason, value]) => ({
                name: titleOf(reason, reason),
                value,
                tone: 'bad',
                ...refusedFor(reason, from),
              }))}
          />
        )}
        {refusalsAreMore && (
          <Text size="xs" c="dimmed" mt="xs">
            {texts.refusedAreCut}
          </Text>
        )}
      </Paper>
    </Section>
  );
}

/** Decisions of the gate by hour, and by venue. */
export function Decisions(): ReactNode {
  const found = api.useQuery(
    'get',
    '/admin/case-gate/admin/v1/activity',
    { params: { query: { environment: 'live' } } },
    { refetchInterval: REFRESH_MS },
  );
  if (found.data === undefined)
    return (
      <Section title={texts.decisionsOfTheGate}>
        <Unread read={found} rows={4} />
      </Section>
    );
  const { from, hours, venues } = found.data;
  const at = new Map(hours.map((hour) => [hour.at, hour]));
  // Venues are counted by days of UTC.
  const since = `${from.slice(0, 10)}T00:00:00.000Z`;
  return (
    <Section title={texts.decisionsOfTheGate}>
      <Paper>
        <Columns
          label={texts.decisionsOfTheGateByHour}
          parts={[
            { name: texts.allowed, tone: 'good' },
            { name: texts.denied, tone: 'bad' },
          ]}
          columns={hoursFrom(from).map((hour) => {
            const counted = at.get(hour.at);
            return { name: hour.name, values: [counted?.allow ?? 0, counted?.deny ?? 0] };
          })}
        />
      </Paper>
      <PlainTable
        label={texts.decisionsByVenue}
        rows={venues.slice(0, VENUES)}
        rowKey={({ venue_id }) => venue_id ?? ''}
        columns={[
          { title: texts.venue, cell: ({ venue_id }) => venue_id ?? texts.unknownVenues },
          {
            title: texts.allowed,
            align: 'right',
            width: '7rem',
            cell: ({ venue_id, allow }) => <Counted count={allow} of={{ venue_id, decision: 'allow', from: since }} />,
          },
          {
            title: texts.denied,
            align: 'right',
            width: '7rem',
            cell: ({ venue_id, deny }) => <Counted count={deny} of={{ venue_id, decision: 'deny', from: since }} />,
          },
        ]}
        empty={<ListEmpty title={texts.noDecisionSinceYesterday} icon="door" />}
      />
    </Section>
  );
}

interface CountedProps {
  readonly count: number;
  readonly of: { readonly venue_id: string | null; readonly decision: string; readonly from: string };
}

/** A number of decisions that leads to their list, for whoever has that list; unknown venues have none. */
function Counted({ count, of: { venue_id, ...filters } }: CountedProps): ReactNode {
  const mayList = useMayAdmin('case-gate', 'admin:read');
  if (venue_id === null || count === 0 || !mayList) return formatNumber(count);
  return (
    <Anchor
      component={Link}
      to={`/cases/live/decisions?${new URLSearchParams({ venue_id, ...filters })}`}
      size="sm"
      aria-label={texts.decisionsAt(formatNumber(count), filters.decision, venue_id)}
    >
      {formatNumber(count)}
    </Anchor>
  );
}
