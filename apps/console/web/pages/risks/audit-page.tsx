import type { ReactNode } from 'react';
import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { problemFrom } from '../../shell/problem.ts';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { Actor } from '../actor.tsx';
import type { Names } from '../actor-in-words.ts';
import { FilterBar, PERIOD, TextFilter } from '../filter-bar.tsx';
import { useOrganization, usePersonName } from './organization.tsx';
import { KINDS } from './record-kinds.ts';
import { PersonPicker } from './record-picker.tsx';
import { exportOf, foundIn, type RiskClient, type RiskSchemas } from './risk-api.ts';

const FILTERS = ['actorId', 'action', 'resource', 'resourceId', 'from', 'to'] as const;
type Filters = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

const TYPED = [
  { name: 'action', label: 'Action', placeholder: 'risk.update' },
  { name: 'resource', label: 'Kind', placeholder: 'risk' },
  { name: 'resourceId', label: 'Which (id)' },
] as const;

async function auditPage(client: RiskClient, filters: Filters, cursor: string | undefined) {
  const { data, error, response } = await client.GET('/api/audit', {
    params: { query: { limit: 50, ...filters, ...(cursor !== undefined && { cursor }) } },
  });
  if (data === undefined) throw problemFrom(response, error, Date.now());
  return foundIn(data, response);
}

/** The audit events, newest first. */
export function AuditPage(): ReactNode {
  const { id: orgId, client, may } = useOrganization();
  const nameOf = usePersonName();
  const [chosen, choose] = useUrlFilters(FILTERS);
  const namesOf = (id: string): Names => (nameOf(id) === id ? {} : { [id]: nameOf(id) });
  const isFiltered = Object.keys(chosen).length > 0;
  return (
    <Page title="Audit" intro="Every change, newest first: of the rows that you may see.">
      <FilterBar chosen={chosen} onChoose={choose} typed={TYPED} times={PERIOD}>
        {may('member:read') ? (
          <PersonPicker
            label="Who"
            value={chosen.actorId}
            onChange={(actorId) => choose({ actorId })}
            width={220}
            placeholder="All"
          />
        ) : (
          <TextFilter label="Who (id)" value={chosen.actorId} onSet={(actorId) => choose({ actorId })} />
        )}
      </FilterBar>
      <CursorTable
        label="Audit"
        queryKey={['risks', orgId, 'audit', chosen]}
        tools={{ exports: may('audit:read') ? exportOf(orgId, 'audit', chosen) : undefined }}
        load={(cursor) => auditPage(client, chosen, cursor)}
        rowKey={({ id }) => id}
        columns={[
          { title: 'When', width: '13rem', cell: ({ at }) => <Time value={at} /> },
          { title: 'Who', cell: ({ actorId }) => <Actor actor={actorId} names={namesOf(actorId)} /> },
          {
            title: 'What',
            width: '14rem',
            cell: ({ action, resource }) => `${action.replaceAll('_', ' ')} ${resource}`,
          },
          { title: 'Which', cell: (event) => <Target event={event} /> },
        ]}
        empty={<ListEmpty title={isFiltered ? 'Nothing matches these filters' : 'Nothing happened yet'} />}
      />
    </Page>
  );
}

function Target({ event }: { readonly event: RiskSchemas['AuditEvent'] }): ReactNode {
  const { to } = useOrganization();
  const kind = Object.values(KINDS).find(({ resource }) => resource === event.resource);
  if (kind === undefined || event.action === 'delete') return event.resourceId;
  return (
    <Anchor component={Link} to={to(`${kind.page}/${encodeURIComponent(event.resourceId)}`)} size="sm">
      {event.resourceId}
    </Anchor>
  );
}
