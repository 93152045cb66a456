import { createContext, useContext, useMemo, type ReactNode } from 'react';
import { Autocomplete, Text } from '@mantine/core';
import { useLocation, useNavigate, useParams } from 'react-router';
import { api, useReload } from '../../shell/api.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { useMine } from '../../shell/mine.ts';
import * as texts from './texts.ts';

interface Environment {
  readonly name: string;
  /** Whether to offer changes; the surface enforces permissions. */
  readonly isOperator: boolean;
  /** Whether to offer what needs this permission. */
  readonly may: (permission: string) => boolean;
  readonly to: (page: string) => string;
  /** Refetches all data about cases, after a change. */
  readonly reload: () => void;
}

const Chosen = createContext<Environment | undefined>(undefined);

/** The environment in the URL: every page of Cases has one. */
export function useEnvironment(): Environment {
  const chosen = useContext(Chosen);
  if (chosen === undefined) throw new Error('The page is outside an environment.');
  return chosen;
}

export function InEnvironment({ children }: { readonly children: ReactNode }): ReactNode {
  const { env = '' } = useParams<{ env: string }>();
  const { mine } = useMine();
  const reload = useReload();
  const isEnvironment = /^[a-z][a-z0-9-]{0,30}$/.test(env);
  const chosen = useMemo(
    (): Environment => ({
      name: env,
      isOperator: mine?.admin('case-gate', 'admin:change') ?? false,
      may: (permission) => mine?.admin('case-gate', permission) ?? false,
      to: (page) => `/cases/${env}/${page}`,
      reload: () => void reload('/admin/case-gate/'),
    }),
    [env, mine, reload],
  );
  if (isEnvironment) return <Chosen value={chosen}>{children}</Chosen>;
  return (
    <Page title={texts.cases}>
      <ListEmpty title={texts.thisIsNoEnvironment} icon="search">
        {texts.thisIsNoEnvironmentHint}
      </ListEmpty>
    </Page>
  );
}

/** The versions of the policy to choose from. */
export function usePolicies() {
  const { name: environment } = useEnvironment();
  return api.useQuery('get', '/admin/case-gate/admin/v1/policies', { params: { query: { environment, limit: 200 } } });
}

/** The venues to choose from. */
export function useVenues(isEnabled = true) {
  const { name: environment } = useEnvironment();
  return api.useQuery(
    'get',
    '/admin/case-gate/admin/v1/venues',
    { params: { query: { environment, limit: 200 } } },
    { enabled: isEnabled },
  );
}

/** Switches to the same page of another environment; any name can be typed. */
export function EnvironmentSwitch(): ReactNode {
  const { name } = useEnvironment();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const go = (env: string) => {
    if (env !== name && /^[a-z][a-z0-9-]{0,30}$/.test(env))
      void navigate(`/cases/${env}/${pathname.split('/')[3] ?? 'queue'}`);
  };
  return (
    <Autocomplete
      aria-label={texts.environment}
      defaultValue={name}
      key={name}
      data={['live', 'test']}
      w={210}
      maxLength={31}
      leftSection={
        <Text size="xs" c="dimmed">
          {texts.environment}
        </Text>
      }
      leftSectionWidth={96}
      onOptionSubmit={go}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && go(currentTarget.value.trim())}
      onBlur={({ currentTarget }) => go(currentTarget.value.trim())}
    />
  );
}
