import { useState, type ReactNode } from 'react';
import { Text } from '@mantine/core';
import { listed, server, useReload } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { quoted } from '../../shell/quoted.ts';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { RowMenu } from '../row-menu.tsx';
import { useOrganization, usePersonName } from './organization.tsx';
import { PEOPLE_REFUSALS } from './person-dialog.tsx';
import { RISKS, type RiskSchemas } from './risk-api.ts';
import { inWords } from './words.ts';

type Invitation = RiskSchemas['Invitation'];

/** Invitations that nobody has accepted yet. */
export function Invitations(): ReactNode {
  const { inOrg, may } = useOrganization();
  const reload = useReload();
  const nameOf = usePersonName();
  const [asked, setAsked] = useState<Invitation>();
  return (
    <Section title="Invitations that wait">
      <CursorTable
        label="Invitations that wait"
        cursorName="invited"
        page={listed('/api/risk-partner/api/people/invitations', inOrg)}
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
          run={() =>
            server.DELETE('/api/risk-partner/api/people/invitations/{id}', {
              ...inOrg,
              params: { path: { id: asked.id } },
            })
          }
          onDone={() => {
            setAsked(undefined);
            void reload(RISKS);
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
