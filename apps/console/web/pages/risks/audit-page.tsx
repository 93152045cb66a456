import type { ReactNode } from 'react';
import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { problemFrom } from '../../shell/problem.ts';
import { Time } from '../../shell/time.tsx';
import { useOrganization, usePersonName } from './organization.tsx';
import { KINDS } from './record-page.tsx';
import { cursorOf, type RiskClient, type RiskSchemas } from './risk-api.ts';

async function auditPage(client: RiskClient, cursor: string | undefined) {
  const { data, error, response } = await client.GET('/api/audit', {
    params: { query: { limit: 50, ...(cursor !== undefined && { cursor }) } },
  });
  if (data === undefined) throw problemFrom(response, error, Date.now());
  return { items: data, nextCursor: cursorOf(response) };
}

/** The audit events, newest first. */
export function AuditPage(): ReactNode {
  const { id: orgId, client } = useOrganization();
  const nameOf = usePersonName();
  return (
    <Page title="Audit" intro="Every change, newest first: of the rows that you may see.">
      <CursorTable
        label="Audit"
        queryKey={['risks', orgId, 'audit']}
        load={(cursor) => auditPage(client, cursor)}
        rowKey={({ id }) => id}
        columns={[
          { title: 'When', width: '13rem', cell: ({ at }) => <Time value={at} /> },
          { title: 'Who', cell: ({ actorId }) => nameOf(actorId) },
          {
            title: 'What',
            width: '14rem',
            cell: ({ action, resource }) => `${action.replaceAll('_', ' ')} ${resource}`,
          },
          { title: 'Which', cell: (event) => <Target event={event} /> },
        ]}
        empty={<ListEmpty title="Nothing happened yet" />}
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
