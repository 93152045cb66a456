import { createContext, useContext, useMemo, type ReactNode } from 'react';
import { Button, Select, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Navigate, useLocation, useNavigate, useParams } from 'react-router';
import { api } from '../../shell/api.ts';
import { ListEmpty, ListLoading } from '../../shell/list-states.tsx';
import { useMine, type MemberRights } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { asProblem } from '../../shell/problem.ts';
import { inOrganization, type InOrganization, type RiskSchemas } from './risk-api.ts';
import { rowsSeen } from './rows-seen.ts';
import * as texts from './texts.ts';

type Me = MemberRights & {
  readonly orgId: string;
  readonly organizations: RiskSchemas['DashboardListOrganizationsResult'];
};

interface Organization {
  readonly id: string;
  readonly me: Me;
  /** For each call of the risk partner. */
  readonly inOrg: InOrganization;
  /** Whether to offer an action with this permission (`risk:update`); the service enforces it. */
  readonly may: (permission: string) => boolean;
  /** The URL of a page of this organisation. */
  readonly to: (page: string) => string;
}

const Chosen = createContext<Organization | undefined>(undefined);

/** The organisation in the URL, and the person's permissions in it. */
export function useOrganization(): Organization {
  const chosen = useContext(Chosen);
  if (chosen === undefined) throw new Error('The page is outside an organisation.');
  return chosen;
}

const organizationsQuery = {
  ...api.queryOptions('get', '/api/risk-partner/api/organizations', {}),
  staleTime: 60_000,
};

/**
 * Loads the person's membership in the organisation of the URL. X-Organization is sent only for one of theirs:
 * otherwise the response is the same 401 as after the end of the session.
 */
export function InOrganization({ children }: { readonly children: ReactNode }): ReactNode {
  const { org = '' } = useParams<{ org: string }>();
  return <OfOrganization org={org}>{children}</OfOrganization>;
}

/** The same for a page whose URL has no organisation. */
export function OfOrganization({ org, children }: { readonly org: string; readonly children: ReactNode }): ReactNode {
  const { mine } = useMine();
  const known = mine?.person?.organizations;
  const all = useQuery({
    ...organizationsQuery,
    ...(known !== undefined && { initialData: known as RiskSchemas['DashboardListOrganizationsResult'] }),
  });
  const isTheirs = all.data?.some(({ id }) => id === org) ?? false;
  // Of an organisation that invited them `whoami` accepts the invitation.
  const member = all.data?.find(({ id }) => id === org)?.member ?? undefined;
  const whoami = api.useQuery(
    'get',
    '/api/risk-partner/api/whoami',
    { ...inOrganization(org) },
    {
      staleTime: 60_000,
      enabled: isTheirs && member === undefined,
    },
  );
  const rights = member ?? whoami.data;
  const organizations = all.data;
  const chosen = useMemo((): Organization | undefined => {
    if (rights === undefined) return undefined;
    const me: Me = { ...rights, orgId: org, organizations: organizations ?? [] };
    const permissions = new Set(me.permissions);
    return {
      id: me.orgId,
      me,
      inOrg: inOrganization(me.orgId),
      may: (permission) => permissions.has(permission),
      to: (page) => `/risks/${encodeURIComponent(me.orgId)}/${page}`,
    };
  }, [org, rights, organizations]);
  if (chosen !== undefined) return <Chosen value={chosen}>{children}</Chosen>;
  if (all.data !== undefined && !isTheirs) return <NotTheirs organizations={all.data} />;
  const failed = [all, whoami].find(({ isError }) => isError);
  return (
    <Page title={texts.risks}>
      {failed === undefined ? (
        <ListLoading />
      ) : (
        <NoOrganization error={failed.error} onRetry={() => void failed.refetch()} />
      )}
    </Page>
  );
}

/** The person is signed in but no member; other errors are shown unchanged. */
const NoOrganization = ({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }): ReactNode =>
  asProblem(error).status === 401 ? (
    <ListEmpty title={texts.noOrganisation} icon="person">
      {texts.noOrganisationHint}
    </ListEmpty>
  ) : (
    <ProblemView error={error} onRetry={onRetry} />
  );

/** A URL without an organisation redirects to the person's first one. */
export function ChooseOrganization(): ReactNode {
  const all = useQuery(organizationsQuery);
  const [first] = all.data ?? [];
  if (first !== undefined) return <Navigate to={`/risks/${encodeURIComponent(first.id)}/register`} replace />;
  return (
    <Page title={texts.risks}>
      {all.isError ? <NoOrganization error={all.error} onRetry={() => void all.refetch()} /> : <ListLoading />}
    </Page>
  );
}

function NotTheirs({ organizations }: { readonly organizations: Me['organizations'] }): ReactNode {
  const navigate = useNavigate();
  return (
    <Page title={texts.risks}>
      <ListEmpty title={texts.notInThisOrganisation} icon="person">
        <Stack gap="xs" pt="xs">
          {organizations.map(({ id, name }) => (
            <Button
              key={id}
              variant="default"
              onClick={() => void navigate(`/risks/${encodeURIComponent(id)}/register`)}
            >
              {texts.openNamed(name)}
            </Button>
          ))}
        </Stack>
      </ListEmpty>
    </Page>
  );
}

/** The introduction of a page with numbers: says once of which rows they are, to those who do not see all. */
export function useCountedIntro(intro: string): string {
  const { me } = useOrganization();
  return [intro, rowsSeen(me.scope)].join(' ').trim();
}

/** Maximum number of people to load for names; others are shown by id. */
const NAMED_PEOPLE = 200;

/** The name of a member if this person may list people, else the id. */
export function usePersonName(): (id: string) => string {
  const { me, may, inOrg } = useOrganization();
  const people = api.useQuery(
    'get',
    '/api/risk-partner/api/people',
    { ...inOrg, params: { query: { limit: NAMED_PEOPLE } } },
    { enabled: may('member:read'), staleTime: 300_000, retry: false },
  );
  const names = useMemo(() => new Map(people.data?.map(({ id, name }) => [id, name])), [people.data]);
  return (id) => (id === me.personId ? texts.yourself(names.get(id) ?? id) : (names.get(id) ?? id));
}

/** Switches to the same page of another organisation; hidden if there is only one. */
export function OrganizationSwitch(): ReactNode {
  const { me } = useOrganization();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  if (me.organizations.length < 2) return null;
  // Not to the page of a record: the other organisation does not have it.
  const page = pathname.split('/')[3] ?? 'register';
  return (
    <Select
      aria-label={texts.organisation}
      allowDeselect={false}
      value={me.orgId}
      w={220}
      data={me.organizations.map(({ id, name }) => ({ value: id, label: name }))}
      onChange={(id) => id !== null && void navigate(`/risks/${encodeURIComponent(id)}/${page}`)}
    />
  );
}
