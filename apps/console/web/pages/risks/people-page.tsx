import { useState, type ReactNode } from 'react';
import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { CursorTable, type ListPage } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { problemFrom } from '../../shell/problem.ts';
import { useMayAdmin } from '../../shell/mine.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { useOrganization } from './organization.tsx';
import { PersonDialog } from './person-dialog.tsx';
import { cursorOf, type Person, riskAdmin, type RiskClient } from './risk-api.ts';
import { inWords } from './words.ts';

type Open = { readonly what: 'add' } | { readonly what: 'change' | 'remove'; readonly person: Person };

/** The members of the organisation and their permissions. Operators assign roles on the admin listener. */
export function PeoplePage(): ReactNode {
  const { id: orgId, may } = useOrganization();
  const mayRead = useMayAdmin('risk-partner', 'admin:read');
  const isOperator = useMayAdmin('risk-partner', 'admin:change');
  const queries = useQueryClient();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const done = () => {
    close();
    void queries.invalidateQueries({ queryKey: ['risks'] });
  };
  const isListed = mayRead || may('member:read');
  return (
    <Page
      title="People"
      intro="Roles decide what a person may do, their scope which rows they see."
      actions={isOperator && <Button onClick={() => setOpen({ what: 'add' })}>Add a person</Button>}
    >
      <Myself />
      {isListed && <PeopleTable onOpen={setOpen} />}
      {(open?.what === 'add' || open?.what === 'change') && (
        <PersonDialog
          orgId={orgId}
          person={open.what === 'change' ? open.person : undefined}
          onDone={done}
          onClose={close}
        />
      )}
      {open?.what === 'remove' && (
        <ConfirmDialog
          title="Remove this person?"
          action="Remove"
          tone="danger"
          onDone={done}
          onClose={close}
          run={() =>
            dataOf(
              riskAdmin.DELETE('/admin/v1/orgs/{orgId}/people/{personId}', {
                params: { path: { orgId, personId: open.person.id } },
              }),
            )
          }
        >
          <Text size="sm" className="wrap">
            {open.person.name} is refused from the next request on, by sign-in and by key.
          </Text>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function PeopleTable({ onOpen }: { readonly onOpen: (open: Open) => void }): ReactNode {
  const { id: orgId, client } = useOrganization();
  const mayRead = useMayAdmin('risk-partner', 'admin:read');
  const isOperator = useMayAdmin('risk-partner', 'admin:change');
  return (
    <CursorTable
      label="People"
      queryKey={['risks', orgId, 'people', mayRead]}
      load={(cursor) => (mayRead ? peopleOfAdmin(orgId, cursor) : peopleOfOrganization(client, cursor))}
      rowKey={({ id }) => id}
      columns={[
        {
          title: 'Name',
          cell: ({ name, kind }) => (
            <div>
              <Text fw={600} size="sm" component="span">
                {name}
              </Text>
              {kind === 'machine' && (
                <Badge ml={8} color="gray">
                  Machine
                </Badge>
              )}
            </div>
          ),
        },
        { title: 'Roles', cell: ({ roles }) => roles.map((role) => inWords(role)).join(', ') || 'None' },
        { title: 'Rows set', cell: ({ scope }) => setRowsOf(scope) },
        { title: 'Id', cell: ({ id }) => <code>{id}</code> },
        ...(isOperator
          ? [
              {
                title: 'Actions',
                width: '12rem',
                cell: (person: Person) => (
                  <Group gap={6}>
                    <Button size="compact-sm" variant="default" onClick={() => onOpen({ what: 'change', person })}>
                      Change
                    </Button>
                    <Button size="compact-sm" variant="default" onClick={() => onOpen({ what: 'remove', person })}>
                      Remove
                    </Button>
                  </Group>
                ),
              },
            ]
          : []),
      ]}
      empty={<ListEmpty title="Nobody is here" icon="person" />}
    />
  );
}

async function peopleOfAdmin(orgId: string, cursor: string | undefined): Promise<ListPage<Person>> {
  return dataOf(
    riskAdmin.GET('/admin/v1/orgs/{orgId}/people', {
      params: { path: { orgId }, query: { limit: 50, ...(cursor !== undefined && { cursor }) } },
    }),
  );
}

async function peopleOfOrganization(client: RiskClient, cursor: string | undefined): Promise<ListPage<Person>> {
  const query = { limit: 50, ...(cursor !== undefined && { cursor }) };
  const { data, error, response } = await client.GET('/api/people', { params: { query } });
  if (data === undefined) throw problemFrom(response, error, Date.now());
  return { items: data, nextCursor: cursorOf(response) };
}

const scopeInWords = ({ unrestricted, departments, canReadSensitive }: Person['scope']): string =>
  [
    unrestricted ? 'All rows' : ['own rows', ...departments].join(', '),
    ...(canReadSensitive ? ['sensitive rows'] : []),
  ].join(' · ');

/** The scope as set for a person, without the effect of their roles. */
const setRowsOf = ({ unrestricted, departments, canReadSensitive }: Person['scope']): string =>
  [...(unrestricted ? ['all rows'] : departments), ...(canReadSensitive ? ['sensitive rows'] : [])].join(', ') || '–';

/** The permissions of the current person, to explain missing actions. */
function Myself(): ReactNode {
  const { me } = useOrganization();
  return (
    <Paper component="section" aria-label="You">
      <Stack gap={6}>
        <Title order={2}>You</Title>
        <Text size="sm">
          <code>{me.personId}</code>
        </Text>
        <Text size="sm">
          {me.roles.length === 0
            ? 'You have no role here yet: an operator assigns roles.'
            : `${me.roles.map((role) => inWords(role)).join(', ')}. You see: ${scopeInWords(me.scope).toLowerCase()}.`}
        </Text>
        <details>
          <summary>What you may do ({me.permissions.length})</summary>
          <Text size="sm" c="dimmed" className="wrap">
            {me.permissions.join(', ') || 'Nothing'}
          </Text>
        </details>
      </Stack>
    </Paper>
  );
}
