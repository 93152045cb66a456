import { createContext, useContext, useMemo, type ReactNode } from 'react';
import { Autocomplete, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate, useParams } from 'react-router';
import { getJson, sendJson } from '../../shell/console-fetch.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { useMine } from '../../shell/mine.ts';
import { adminPath } from './case-api.ts';

type Query = Readonly<Record<string, string | undefined>>;

interface Environment {
  readonly name: string;
  /** Whether to offer changes; the surface enforces permissions. */
  readonly isOperator: boolean;
  /** Whether to offer what needs this permission. */
  readonly may: (permission: string) => boolean;
  readonly to: (page: string) => string;
  /** Fetches JSON of a route, in this environment. Throws ProblemError. */
  readonly read: <T>(path: string, query?: Query) => Promise<T>;
  /** Sends a change. Throws ProblemError; status 0: the outcome is unknown. */
  readonly send: <T>(path: string, body?: unknown, method?: string) => Promise<T>;
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
  const queries = useQueryClient();
  const isEnvironment = /^[a-z][a-z0-9-]{0,30}$/.test(env);
  const chosen = useMemo(
    (): Environment => ({
      name: env,
      isOperator: mine?.admin('case-gate', 'admin:change') ?? false,
      may: (permission) => mine?.admin('case-gate', permission) ?? false,
      to: (page) => `/cases/${env}/${page}`,
      read: (path, query = {}) => getJson(adminPath(path, { ...query, environment: env })),
      send: (path, body = {}, method = 'POST') => sendJson(adminPath(path, { environment: env }), body, method),
      reload: () => void queries.invalidateQueries({ queryKey: ['cases'] }),
    }),
    [env, mine, queries],
  );
  if (isEnvironment) return <Chosen value={chosen}>{children}</Chosen>;
  return (
    <Page title="Cases">
      <ListEmpty title="This is no environment" icon="search">
        An environment is a lower-case word such as live or test.
      </ListEmpty>
    </Page>
  );
}

/** A cached read of the environment, by path. */
export function useRead<T>(path: string, query: Query = {}, isEnabled = true) {
  const { name, read } = useEnvironment();
  return useQuery({ queryKey: ['cases', name, path, query], queryFn: () => read<T>(path, query), enabled: isEnabled });
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
      aria-label="Environment"
      defaultValue={name}
      key={name}
      data={['live', 'test']}
      w={210}
      maxLength={31}
      leftSection={
        <Text size="xs" c="dimmed">
          Environment
        </Text>
      }
      leftSectionWidth={96}
      onOptionSubmit={go}
      onKeyDown={({ key, currentTarget }) => key === 'Enter' && go(currentTarget.value.trim())}
      onBlur={({ currentTarget }) => go(currentTarget.value.trim())}
    />
  );
}
