import type { ReactNode } from 'react';
import { Anchor, Button } from '@mantine/core';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { State } from '../cases/case-words.tsx';
import * as texts from './texts.ts';

/** The start page of an author: the policy versions that changed last. */
export function AuthorHome(): ReactNode {
  const policies = api.useQuery('get', '/admin/case-gate/admin/v1/policies', {
    params: { query: { environment: 'live', sort: '-updated_at', limit: 20 } },
  });
  return (
    <Page
      title={texts.policies}
      intro={texts.policiesIntro}
      actions={
        <Button component={Link} to="/cases/live/policies">
          {texts.allPolicies}
        </Button>
      }
    >
      <Unread read={policies} />
      {policies.data !== undefined && (
        <PlainTable
          label={texts.policyVersions}
          rows={policies.data.items}
          rowKey={({ policy_version }) => policy_version}
          columns={[
            {
              title: texts.version,
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
            { title: texts.state, width: '8rem', cell: ({ status }) => <State value={status} /> },
            { title: texts.changed, width: '10rem', cell: ({ updated_at }) => <Time value={updated_at} form="ago" /> },
          ]}
          empty={<ListEmpty title={texts.noPolicyYet}>{texts.noPolicyYetHint}</ListEmpty>}
        />
      )}
    </Page>
  );
}
