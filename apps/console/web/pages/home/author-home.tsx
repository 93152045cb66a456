import type { ReactNode } from 'react';
import { Anchor, Button } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { State } from '../cases/case-words.tsx';

/** The start page of an author: the policy versions that changed last. */
export function AuthorHome(): ReactNode {
  const policies = api.useQuery('get', '/admin/case-gate/admin/v1/policies', {
    params: { query: { environment: 'live', sort: '-updated_at', limit: 20 } },
  });
  return (
    <Page
      title="Policies"
      intro="Drafts can be changed and tried on decided cases; an operator activates them."
      actions={
        <Button component={Link} to="/cases/live/policies">
          All policies
        </Button>
      }
    >
      <Unread read={policies} />
      {policies.data !== undefined && (
        <PlainTable
          label="Policy versions"
          rows={policies.data.items}
          rowKey={({ policy_version }) => policy_version}
          columns={[
            {
              title: 'Version',
              cell: ({ policy_version }) => (
                <Anchor
                  component={Link}
                  to={`/cases/live/policies/${encodeURIComponent(policy_version)}`}
                  fw={600}
                  size="sm"
                >
                  {policy_version}
                </Anchor>
              ),
            },
            { title: 'State', width: '8rem', cell: ({ status }) => <State value={status} /> },
            { title: 'Changed', width: '10rem', cell: ({ updated_at }) => <Time value={updated_at} form="ago" /> },
          ]}
          empty={<ListEmpty title="No policy yet">Make a draft, try it, have it activated.</ListEmpty>}
        />
      )}
    </Page>
  );
}
