import { useMemo, type ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Navigate, useSearchParams } from 'react-router';
import { listed } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable, type ListPage, type PageAt, type PageQuery } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { ProblemError } from '../../shell/problem.ts';
import type { SurfaceId } from '../../shell/session.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { Actor } from '../actor.tsx';
import { named, type Names } from '../actor-in-words.ts';
import { CodePicker } from '../code-picker.tsx';
import { FilterBar, PERIOD } from '../filter-bar.tsx';
import { AuditExport } from './audit-export.tsx';
import { SurfacePicker, useReadable } from './by-surface.tsx';
import { actionInWords, choicesIn, detailInWords, kindInWords, PROBLEM_WORDS } from './audit-words.ts';
import * as texts from './texts.ts';

const FILTERS = ['actor', 'action', 'resource', 'resourceId', 'requestId', 'from', 'to'] as const;
type Filters = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

const TYPED = [
  { name: 'resourceId', label: texts.whichId },
  { name: 'requestId', label: texts.requestId },
] as const;

/** The case gate spells members of two words with an underscore. */
const SNAKE: Readonly<Record<string, string>> = { resourceId: 'resource_id', requestId: 'request_id' };
type AuditEvent = Schemas['ingestGatewayAdmin']['AuditEvent'];
type SnakeEvent = Schemas['caseGateAdmin']['AuditEvent'];

const camel = (event: AuditEvent | SnakeEvent): AuditEvent =>
  'resource_id' in event ? { ...event, resourceId: event.resource_id, requestId: event.request_id } : event;

/** The pages of the audit of a service. */
function auditPages(surface: SurfaceId, filters: Filters): (at: PageAt) => PageQuery<AuditEvent & { names: Names }> {
  const names = surface === 'case-gate' ? SNAKE : {};
  const query = Object.fromEntries(Object.entries(filters).map(([name, value]) => [names[name] ?? name, value]));
  // The listeners have the same route; the case gate spells some names differently.
  const path = `/admin/${surface}/admin/v1/audit` as '/admin/ingest-gateway/admin/v1/audit';
  const pages = named(listed(path, { query }));
  return (at) => {
    const { queryKey, queryFn } = pages(at);
    return {
      queryKey,
      async queryFn(context) {
        const { items, ...page } = await queryFn(context);
        return { ...page, items: items.map((event) => ({ ...camel(event), names: event.names })) };
      },
    };
  };
}

/** The first page of each surface; of one that cannot be asked there is none. */
const firstPages = (readable: readonly SurfaceId[], filters: Filters, signal: AbortSignal) =>
  Promise.all(
    readable.map(async (id) => {
      const page = await auditPages(
        id,
        filters,
      )({})
        .queryFn({ signal })
        .catch((error: unknown) => {
          if (!(error instanceof ProblemError)) throw error;
          return undefined;
        });
      return { id, page };
    }),
  );

const atOf = ({ page }: { readonly page: ListPage<AuditEvent> | undefined }): string => page?.items[0]?.at ?? '';

/** The audit of the service in the address, else of the one where something happened last. */
export function AuditTrailPage(): ReactNode {
  const readable = useReadable();
  const [search] = useSearchParams();
  const [filters] = useUrlFilters(FILTERS);
  const surface = readable.find((id) => id === search.get('by'));
  const queries = useQueryClient();
  const newest = useQuery({
    queryKey: ['operations', 'newest', readable, filters],
    queryFn: async ({ signal }) => {
      const pages = await firstPages(readable, filters, signal);
      const { id, page } = pages.reduce((first, next) => (atOf(next) > atOf(first) ? next : first));
      // As the list of that surface would read it.
      if (page !== undefined) queries.setQueryData(auditPages(id, filters)({}).queryKey, page);
      return id;
    },
    enabled: surface === undefined && readable.length > 0,
  });
  if (surface !== undefined) return <Trail surface={surface} readable={readable} />;
  if (newest.data !== undefined)
    return <Navigate to={{ search: `?${new URLSearchParams({ ...filters, by: newest.data })}` }} replace />;
  return (
    <Page title={texts.audit}>
      {readable.length === 0 ? (
        <ListEmpty title={texts.noServiceShowsYouItsAudit} icon="person" />
      ) : (
        <Unread read={newest} />
      )}
    </Page>
  );
}

/** What the pickers offer: with what the newest events of the surface have. */
function useChoices(surface: SurfaceId): ReturnType<typeof choicesIn> {
  const newest = useQuery(auditPages(surface, {})({}));
  return useMemo(() => choicesIn(newest.data?.items ?? []), [newest.data]);
}

interface TrailProps {
  readonly surface: SurfaceId;
  readonly readable: readonly SurfaceId[];
}

/** Who changed or exported what at a service, with its signed export and the check of one. */
function Trail({ surface, readable }: TrailProps): ReactNode {
  const [filters, choose] = useUrlFilters(FILTERS);
  const isFiltered = Object.keys(filters).length > 0;
  const { actors, actions, kinds } = useChoices(surface);
  return (
    <Page title={texts.audit} intro={texts.auditIntro} actions={<SurfacePicker of={readable} value={surface} />}>
      <AuditExport key={surface} surface={surface} from={filters.from} to={filters.to} />
      <FilterBar chosen={filters} onChoose={choose} typed={TYPED} times={PERIOD}>
        <CodePicker label={texts.who} value={filters.actor} choices={actors} onSet={(actor) => choose({ actor })} />
        <CodePicker
          label={texts.action}
          value={filters.action}
          choices={actions}
          onSet={(action) => choose({ action })}
        />
        <CodePicker
          label={texts.kind}
          width={170}
          value={filters.resource}
          choices={kinds}
          onSet={(resource) => choose({ resource })}
        />
      </FilterBar>
      <CursorTable
        label={texts.audit}
        page={auditPages(surface, filters)}
        rowKey={({ id }) => id}
        columns={[
          { title: texts.when, width: '12rem', cell: ({ at }) => <Time value={at} /> },
          { title: texts.who, width: '14rem', cell: ({ actor, names }) => <Actor actor={actor} names={names} /> },
          { title: texts.what, width: '13rem', wraps: true, cell: (event) => <What event={event} /> },
          {
            title: texts.which,
            width: '16rem',
            cell: ({ resource, resourceId }) => (
              <span>
                {kindInWords(resource)} <CodeText value={resourceId} label={texts.copyTheId} short={20} />
              </span>
            ),
          },
          { title: texts.details, wraps: true, cell: ({ detail }) => detailInWords(detail) },
          {
            title: texts.request,
            width: '9rem',
            cell: ({ requestId }) =>
              requestId === null ? '–' : <CodeText value={requestId} label={texts.copyTheRequestId} short={8} />,
          },
        ]}
        isDense
        empty={<ListEmpty title={isFiltered ? texts.nothingMatchesTheseFilters : texts.nothingHappenedYet} />}
      />
    </Page>
  );
}

const What = ({ event: { action, problem } }: { readonly event: AuditEvent }): ReactNode => (
  <Stack gap={2} align="flex-start">
    <Text size="sm" title={action}>
      {actionInWords(action)}
    </Text>
    {problem !== null && <StateBadge tone="bad">{PROBLEM_WORDS[problem]}</StateBadge>}
  </Stack>
);
