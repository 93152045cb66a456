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
import * as texts from './people-texts.ts';
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
    <Section title={texts.invitationsThatWait}>
      <CursorTable
        label={texts.invitationsThatWait}
        cursorName="invited"
        page={listed('/api/risk-partner/api/people/invitations', inOrg)}
        rowKey={({ id }) => id}
        columns={[
          { title: texts.address, cell: ({ email }) => <strong className="wrap">{email}</strong> },
          { title: texts.roles, cell: ({ roles }) => roles.map((role) => inWords(role)).join(', ') || texts.none },
          { title: texts.invitedBy, cell: ({ invitedBy }) => nameOf(invitedBy) },
          { title: texts.ends, width: '9rem', cell: ({ expiresAt }) => <Time value={expiresAt} form="ago" /> },
          ...(may('member:delete')
            ? [
                {
                  title: texts.actions,
                  width: '5rem',
                  cell: (one: Invitation) => (
                    <RowMenu
                      label={texts.actionsOf(one.email)}
                      actions={[{ title: texts.withdraw, tone: 'danger', onClick: () => setAsked(one) }]}
                    />
                  ),
                },
              ]
            : []),
        ]}
        empty={<ListEmpty title={texts.nobodyIsInvited} icon="person" />}
      />
      {asked !== undefined && (
        <ConfirmDialog
          title={texts.withdrawThisInvitation}
          action={texts.withdraw}
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
            {texts.withdrawThisInvitationHint(quoted(asked.email))}
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  );
}
