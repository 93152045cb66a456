import type { ReactNode } from 'react';
import { Button, Group, Stack, Text } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { CodeText } from '../../shell/code-text.tsx';
import { getJson } from '../../shell/console-fetch.ts';
import { CursorTable, type ListPage } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import type { SurfaceId } from '../../shell/session.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { TextFilter, TimeFilter } from '../text-filter.tsx';
import { AuditExport } from './audit-export.tsx';
import { SurfacePicker, useReadable, useSurface } from './by-surface.tsx';
import { detailInWords, PROBLEM_WORDS } from './audit-words.ts';

const FILTERS = ['actor', 'action', 'resource', 'resourceId', 'requestId', 'from', 'to'] as const;
type Filters = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

const TYPED = [
  { name: 'actor', label: 'Who', placeholder: 'admin:1f2e3d4c' },
  { name: 'action', label: 'Action', placeholder: 'key.revoke' },
  { name: 'resource', label: 'Kind', placeholder: 'key' },
  { name: 'resourceId', label: 'Which (id)' },
  { name: 'requestId', label: 'Request id' },
] as const;

/** The case gate spells members of two words with an underscore. */
const SNAKE: Readonly<Record<string, string>> = { resourceId: 'resource_id', requestId: 'request_id' };
type AuditEvent = Schemas['ingestGatewayAdmin']['AuditEvent'];
type SnakeEvent = Schemas['caseGateAdmin']['AuditEvent'];

const camel = (event: AuditEvent | SnakeEvent): AuditEvent =>
  'resource_id' in event ? { ...event, resourceId: event.resource_id, requestId: event.request_id } : event;

async function readPage(
  surface: SurfaceId,
  { filters, cursor, signal }: { filters: Filters; cursor: string | undefined; signal: AbortSignal },
): Promise<ListPage<AuditEvent>> {
  const names = surface === 'case-gate' ? SNAKE : {};
  const asked = Object.entries({ ...filters, cursor }).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams([['limit', '50'], ...asked.map(([name, value]) => [names[name] ?? name, value])]);
  const path = `/admin/${surface}/admin/v1/audit?${query}`;
  const page = await getJson<ListPage<AuditEvent | SnakeEvent>>(path, { signal });
  return { ...page, items: page.items.map(camel) };
}

/** Who changed or exported what at a service, with its signed export and the check of one. */
export function AuditTrailPage(): ReactNode {
  const readable = useReadable();
  const surface = useSurface(readable);
  const [filters, choose] = useUrlFilters(FILTERS);
  if (surface === undefined)
    return (
      <Page title="Audit">
        <ListEmpty title="No service shows you its audit" icon="person" />
      </Page>
    );
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Page
      title="Audit"
      intro="Who changed or exported what, newest first. An event that was edited in the database is marked."
      actions={<SurfacePicker of={readable} value={surface} />}
    >
      <AuditExport key={surface} surface={surface} from={filters.from} to={filters.to} />
      <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
        {TYPED.map(({ name, label, ...hint }) => (
          <TextFilter
            key={name}
            label={label}
            {...hint}
            value={filters[name]}
            onSet={(value) => choose({ [name]: value })}
          />
        ))}
        <TimeFilter label="From" value={filters.from} onSet={(from) => choose({ from })} />
        <TimeFilter label="To" value={filters.to} onSet={(to) => choose({ to })} />
        {isFiltered && (
          <Button variant="subtle" onClick={() => choose(Object.fromEntries(FILTERS.map((name) => [name, null])))}>
            Clear filters
          </Button>
        )}
      </Group>
      <CursorTable
        label="Audit"
        queryKey={['operations', surface, 'audit', filters]}
        load={(cursor, signal) => readPage(surface, { filters, cursor, signal })}
        rowKey={({ id }) => id}
        columns={[
          { title: 'When', width: '12rem', cell: ({ at }) => <Time value={at} /> },
          { title: 'Who', width: '14rem', cell: ({ actor }) => actor },
          { title: 'What', width: '13rem', cell: (event) => <What event={event} /> },
          { title: 'Which', cell: ({ resource, resourceId }) => `${resource} ${resourceId}` },
          { title: 'Details', cell: ({ detail }) => detailInWords(detail) },
          {
            title: 'Request',
            width: '9rem',
            cell: ({ requestId }) =>
              requestId === null ? '–' : <CodeText value={requestId} label="the request id" short={8} />,
          },
        ]}
        isDense
        empty={<ListEmpty title={isFiltered ? 'Nothing matches these filters' : 'Nothing happened yet'} />}
      />
    </Page>
  );
}

const What = ({ event: { action, problem } }: { readonly event: AuditEvent }): ReactNode => (
  <Stack gap={2} align="flex-start">
    <Text size="sm">{action}</Text>
    {problem !== null && <StateBadge tone="bad">{PROBLEM_WORDS[problem]}</StateBadge>}
  </Stack>
);
