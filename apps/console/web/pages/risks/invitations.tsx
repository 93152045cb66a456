import { useState, type ReactNode } from 'react';
import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { problemFrom } from '../../shell/problem.ts';
import { quoted } from '../../shell/quoted.ts';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { RowMenu } from '../row-menu.tsx';
import { useOrganization, usePersonName } from './organization.tsx';
import { PEOPLE_REFUSALS } from './person-dialog.tsx';
import { foundIn, type RiskClient, type RiskSchemas } from './risk-api.ts';
import { inWords } from './words.ts';

type Invitation = RiskSchemas['Invitation'];

async function invitationsPage(client: RiskClient, cursor: string | undefined) {
  const query = { limit: 50, ...(cursor !== undefined && { cursor }) };
  const { data, error, response } = await client.GET('/api/people/invitations', { params: { query } });
  if (data === undefined) throw problemFrom(response, error, Date.now());
  return foundIn(data, response);
}

/** Invitations that nobody has accepted yet. */
export function Invitations(): ReactNode {
  const { id: orgId, client, may } = useOrganization();
  const queries = useQueryClient();
  const nameOf = usePersonName();
  const [asked, setAsked] = useState<Invitation>();
  return (
    <Section title="Invitations that wait">
      <CursorTable
        label="Invitations that wait"
        cursorName="invited"
        queryKey={['risks', orgId, 'invitations']}
        load={(cursor) => invitationsPage(client, cursor)}
        rowKey={({ id }) => id}
        columns={[
          { title: 'Address', cell: ({ email }) => <strong className="wrap">{email}</strong> },
          { title: 'Roles', cell: ({ roles }) => roles.map((role) => inWords(role)).join(', ') || 'None' },
          { title: 'Invited by', cell: ({ invitedBy }) => nameOf(invitedBy) },
          { title: 'Ends', width: '9rem', cell: ({ expiresAt }) => <Time value={expiresAt} form="ago" /> },
          ...(may('member:delete')
            ? [
                {
                  title: 'Actions',
                  width: '5rem',
                  cell: (one: Invitation) => (
                    <RowMenu
                      label={`Actions of ${one.email}`}
                      actions={[{ title: 'Withdraw', tone: 'danger', onClick: () => setAsked(one) }]}
                    />
                  ),
                },
              ]
            : []),
        ]}
        empty={<ListEmpty title="Nobody is invited" icon="person" />}
      />
      {asked !== undefined && (
        <ConfirmDialog
          title="Withdraw this invitation?"
          action="Withdraw"
          tone="danger"
          explain={PEOPLE_REFUSALS}
          run={() => dataOf(client.DELETE('/api/people/invitations/{id}', { params: { path: { id: asked.id } } }))}
          onDone={() => {
            setAsked(undefined);
            void queries.invalidateQueries({ queryKey: ['risks'] });
          }}
          onClose={() => setAsked(undefined)}
        >
          <Text size="sm" className="wrap">
            A sign-in as {quoted(asked.email)} makes nobody a member any more.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  );
}
