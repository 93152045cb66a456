import { useState, type ReactNode } from 'react';
import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useNavigate } from 'react-router';
import { listed, server, useReload } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import type { MemberRights } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { quoted } from '../../shell/quoted.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { RowMenu } from '../row-menu.tsx';
import { Invitations } from './invitations.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { useOrganization } from './organization.tsx';
import * as texts from './people-texts.ts';
import { PEOPLE_REFUSALS, PersonDialog } from './person-dialog.tsx';
import { exportOf, RISKS, type Person } from './risk-api.ts';
import { inWords } from './words.ts';

type Open = { readonly what: 'invite' } | { readonly what: 'change' | 'remove'; readonly person: Person };

/** The members of the organisation, their roles and scope, and invitations of further ones. */
export function PeoplePage(): ReactNode {
  const { inOrg, may } = useOrganization();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const again = useReload();
  const reload = () => void again(RISKS);
  const done = () => {
    close();
    reload();
  };
  return (
    <Page
      title={texts.people}
      intro={texts.peopleIntro}
      actions={
        may('member:create') && <Button onClick={() => setOpen({ what: 'invite' })}>{texts.inviteSomebody}</Button>
      }
    >
      <Myself />
      {may('member:read') && <PeopleTable onOpen={setOpen} />}
      {may('member:read') && <Invitations />}
      {open?.what === 'invite' && <InviteDialog onMade={reload} onClose={close} />}
      {open?.what === 'change' && <PersonDialog person={open.person} onDone={done} onClose={close} />}
      {open?.what === 'remove' && (
        <ConfirmDialog
          title={texts.removeThisPerson}
          action={texts.remove}
          tone="danger"
          explain={PEOPLE_REFUSALS}
          onDone={done}
          onClose={close}
          run={() =>
            server.DELETE('/api/risk-partner/api/people/{id}', { ...inOrg, params: { path: { id: open.person.id } } })
          }
        >
          <Text size="sm" className="wrap">
            {texts.removeThisPersonHint(quoted(open.person.name))}
          </Text>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function PeopleTable({ onOpen }: { readonly onOpen: (open: Open) => void }): ReactNode {
  const { id: orgId, inOrg, may } = useOrganization();
  return (
    <CursorTable
      label={texts.people}
      tools={{
        searches: texts.wordsInIdOrName,
        order: 'createdAt',
        exports: may('member:export') ? exportOf(orgId, 'people') : undefined,
      }}
      page={listed('/api/risk-partner/api/people', inOrg)}
      rowKey={({ id }) => id}
      columns={[
        { title: texts.name, sort: 'name', cell: (person) => <Name {...person} /> },
        { title: texts.roles, cell: ({ roles }) => roles.map((role) => inWords(role)).join(', ') || texts.none },
        { title: texts.rowsSet, cell: ({ scope }) => setRowsOf(scope) },
        ...(may('member:update') ? [seenColumn] : []),
        { title: texts.id, cell: ({ id }) => <CodeText value={id} label={texts.copyTheIdOfThePerson} short={12} /> },
        { title: texts.actions, width: '5rem', cell: (person) => <Actions person={person} onOpen={onOpen} /> },
      ]}
      empty={<ListEmpty title={texts.nobodyIsHere} icon="person" />}
    />
  );
}

/** Told to those who may change members. */
const seenColumn: Column<Person> = {
  title: texts.lastSeen,
  width: '10.5rem',
  cell: ({ lastSeenAt }) => (lastSeenAt == null ? texts.never : <Time value={lastSeenAt} form="ago" />),
};

function Name({ id, name, kind }: Person): ReactNode {
  const { me } = useOrganization();
  return (
    <Group gap={8}>
      <Text fw={600} size="sm" component="span" className="wrap">
        {name}
      </Text>
      {id === me.personId && <Badge color="gray">{texts.you}</Badge>}
      {kind === 'machine' && <Badge color="gray">{texts.machine}</Badge>}
    </Group>
  );
}

/** Where what is a person's is listed. */
const THEIRS = [
  { title: texts.risksTheyOwn, page: 'register', by: 'ownerId', needs: 'risk:read' },
  { title: texts.evidenceTheyOwn, page: 'evidence/list', by: 'ownerId', needs: 'evidence:read' },
  { title: texts.assetsTheyOwn, page: 'assets', by: 'ownerId', needs: 'asset:read' },
  { title: texts.whatTheyDid, page: 'audit', by: 'actorId', needs: 'audit:read' },
] as const;

function Actions({ person, onOpen }: { readonly person: Person; readonly onOpen: (open: Open) => void }): ReactNode {
  const { may, to } = useOrganization();
  const navigate = useNavigate();
  const theirs = THEIRS.filter(({ needs }) => may(needs)).map(({ title, page, by }) => ({
    title,
    onClick: () => void navigate(`${to(page)}?${new URLSearchParams({ [by]: person.id })}`),
  }));
  return (
    <RowMenu
      label={texts.actionsOf(person.name)}
      actions={[
        ...theirs,
        ...(may('member:update')
          ? [{ title: texts.rolesAndScope, onClick: () => onOpen({ what: 'change' as const, person }) }]
          : []),
        ...(may('member:delete')
          ? [
              {
                title: texts.remove,
                tone: 'danger' as const,
                onClick: () => onOpen({ what: 'remove' as const, person }),
              },
            ]
          : []),
      ]}
    />
  );
}

const scopeInWords = ({ unrestricted, departments, canReadSensitive }: MemberRights['scope']): string =>
  [
    unrestricted ? texts.allRows : [texts.ownRows, ...departments].join(', '),
    ...(canReadSensitive ? [texts.sensitiveRows] : []),
  ].join(' · ');

/** The scope as set for a person, without the effect of their roles. */
const setRowsOf = ({ unrestricted, departments, canReadSensitive }: Person['scope']): string =>
  [...(unrestricted ? [texts.allRows] : departments), ...(canReadSensitive ? [texts.sensitiveRows] : [])].join(', ') ||
  '–';

/** The permissions of the current person, to explain missing actions. */
function Myself(): ReactNode {
  const { me } = useOrganization();
  return (
    <Paper component="section" aria-label={texts.you}>
      <Stack gap={6}>
        <Title order={2}>{texts.you}</Title>
        <CodeText value={me.personId} label={texts.copyYourId} />
        <Text size="sm">
          {me.roles.length === 0
            ? texts.youHaveNoRole
            : texts.rolesAndRows(me.roles.map((role) => inWords(role)).join(', '), scopeInWords(me.scope))}
        </Text>
        <details>
          <summary>{texts.permissionsCounted(me.permissions.length)}</summary>
          <Text size="sm" c="dimmed" className="wrap">
            {me.permissions.join(', ') || texts.nothing}
          </Text>
        </details>
      </Stack>
    </Paper>
  );
}
