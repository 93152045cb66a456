import { createContext, useContext, useMemo, type ReactNode } from 'react';
import { Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Navigate, useLocation, useNavigate, useParams } from 'react-router';
import { dataOf } from '../../shell/console-fetch.ts';
import { ListEmpty, ListLoading } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { asProblem } from '../../shell/problem.ts';
import { readJson, riskClient, type RiskClient, type RiskSchemas } from './risk-api.ts';

export type Me = RiskSchemas['DashboardWhoami'];

interface Organization {
  readonly id: string;
  readonly me: Me;
  readonly client: RiskClient;
  /** Whether to offer what needs the permission (`risk:update`); the service decides. */
  readonly may: (permission: string) => boolean;
  /** The address of a page of this organisation. */
  readonly to: (page: string) => string;
}

const Chosen = createContext<Organization | undefined>(undefined);

/** The organisation of the address, and what the person may do in it. */
export function useOrganization(): Organization {
  const chosen = useContext(Chosen);
  if (chosen === undefined) throw new Error('The page stands outside an organisation.');
  return chosen;
}

const whoami = (orgId: string | undefined) => ({
  queryKey: ['risks', 'whoami', orgId ?? null],
  queryFn: () => dataOf(riskClient(orgId).GET('/api/whoami')),
  staleTime: 60_000,
});

/**
 * Finds out who the person is in the organisation that the address names. The header X-Organization is sent only for one
 * of theirs: another is the same 401 as a sign-in that has ended.
 */
export function InOrganization({ children }: { readonly children: ReactNode }): ReactNode {
  const { org } = useParams<{ org: string }>();
  const alone = useQuery(whoami(undefined));
  // Somebody in several organisations may be refused without a name: then the address is believed.
  const mustName = alone.error !== null && asProblem(alone.error).status === 400;
  const isTheirs = alone.data?.organizations.some(({ id }) => id === org) ?? mustName;
  const named = useQuery({ ...whoami(org), enabled: isTheirs && org !== undefined && alone.data?.orgId !== org });
  const me = alone.data?.orgId === org ? alone.data : named.data;
  const chosen = useMemo((): Organization | undefined => {
    if (me === undefined) return undefined;
    const permissions = new Set(me.permissions);
    return {
      ...{ id: me.orgId, me, client: riskClient(me.orgId) },
      may: (permission) => permissions.has(permission),
      to: (page) => `/risks/${encodeURIComponent(me.orgId)}/${page}`,
    };
  }, [me]);
  if (chosen !== undefined) return <Chosen value={chosen}>{children}</Chosen>;
  if (alone.data !== undefined && !isTheirs) return <NotTheirs me={alone.data} />;
  const failed = [named, ...(mustName ? [] : [alone])].find(({ isError }) => isError);
  return (
    <Page title="Risks">
      {failed === undefined ? (
        <ListLoading />
      ) : (
        <ProblemView error={failed.error} onRetry={() => void failed.refetch()} />
      )}
    </Page>
  );
}

/** The address without an organisation: leads to the one of the person, or asks for a name. */
export function ChooseOrganization(): ReactNode {
  const navigate = useNavigate();
  const alone = useQuery(whoami(undefined));
  if (alone.data !== undefined)
    return <Navigate to={`/risks/${encodeURIComponent(alone.data.orgId)}/register`} replace />;
  if (!alone.isError)
    return (
      <Page title="Risks">
        <ListLoading />
      </Page>
    );
  if (asProblem(alone.error).status !== 400)
    return (
      <Page title="Risks">
        <ProblemView error={alone.error} onRetry={() => void alone.refetch()} />
      </Page>
    );
  return (
    <Page title="Risks" intro="You are in several organisations: name the one to look at.">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const org = String(new FormData(event.currentTarget).get('org')).trim();
          if (org !== '') void navigate(`/risks/${encodeURIComponent(org)}/register`);
        }}
      >
        <Group align="flex-end">
          <TextInput name="org" label="Organisation id" placeholder="org_…" required />
          <Button type="submit">Open</Button>
        </Group>
      </form>
    </Page>
  );
}

function NotTheirs({ me }: { readonly me: Me }): ReactNode {
  const navigate = useNavigate();
  return (
    <Page title="Risks">
      <ListEmpty title="You are not in this organisation" icon="person">
        <Stack gap="xs" pt="xs">
          {me.organizations.map(({ id, name }) => (
            <Button
              key={id}
              variant="default"
              onClick={() => void navigate(`/risks/${encodeURIComponent(id)}/register`)}
            >
              Open {name}
            </Button>
          ))}
        </Stack>
      </ListEmpty>
    </Page>
  );
}

/** Most people whose names are known; the ids of others are shown. */
const NAMED_PEOPLE = 200;

/** The name of a person of the organisation, where this person may list people; else the id. */
export function usePersonName(): (id: string) => string {
  const { id: orgId, me, may } = useOrganization();
  const people = useQuery({
    queryKey: ['risks', orgId, 'names'],
    queryFn: () =>
      readJson<{ readonly id: string; readonly name: string }[]>(orgId, `/api/people?limit=${NAMED_PEOPLE}`),
    enabled: may('member:read'),
    staleTime: 300_000,
    retry: false,
  });
  const names = useMemo(() => new Map(people.data?.map(({ id, name }) => [id, name])), [people.data]);
  return (id) => (id === me.personId ? `${names.get(id) ?? id} (you)` : (names.get(id) ?? id));
}

/** Switches to the same page of another organisation; nothing where there is but one. */
export function OrganizationSwitch(): ReactNode {
  const { me } = useOrganization();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  if (me.organizations.length < 2) return null;
  // The page of a record stays behind: the other organisation does not have that record.
  const page = pathname.split('/')[3] ?? 'register';
  return (
    <Select
      {...{ 'aria-label': 'Organisation', allowDeselect: false, value: me.orgId, w: 220 }}
      data={me.organizations.map(({ id, name }) => ({ value: id, label: name }))}
      onChange={(id) => id !== null && void navigate(`/risks/${encodeURIComponent(id)}/${page}`)}
    />
  );
}
