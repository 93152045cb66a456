import { newServerSecret } from '../harness/new-secrets.ts';
import { redisByName } from './names.ts';
import type { SiteProvider } from './provider/site-provider.ts';
import type { ProviderPerson } from './provider/settings.ts';
import type { Replica } from './replica.ts';

const OPERATORS = 'operators';

/** Who operates the surfaces through the console, all with every right; and somebody whom no rule gives a role. */
export const OPERATOR_SUBJECTS = ['ada', 'ben', 'cleo', 'dora', 'emil', 'fay'] as const;
export const STRANGER_SUBJECT = 'stranger';

export const PEOPLE: readonly ProviderPerson[] = [
  ...OPERATOR_SUBJECTS.map((subject) => ({ subject, groups: [OPERATORS] })),
  { subject: STRANGER_SUBJECT, groups: [] },
];

/** The audience of the tokens for a surface's admin listener. */
export const audienceOf = (surface: string): string => `urn:chaos:${surface}`;

/** What a surface must know to take operators in. */
export const operatorEnv = ({ issuer }: SiteProvider, surface: string): Record<string, string> => ({
  OIDC_ISSUERS: JSON.stringify([{ issuer, audience: { admin: [audienceOf(surface)] } }]),
  ADMIN_OIDC: JSON.stringify([{ claim: 'groups', value: OPERATORS, role: 'operator' }]),
  // The tools of the risk partner name it in their answers.
  ...(surface === 'risk-partner' ? { PUBLIC_URL: 'https://risk.chaos.test' } : {}),
});

/** The variables of all replicas of the console. */
export function consoleEnv({
  provider,
  surfaces,
  redisUrl,
  nodeOptions,
}: {
  readonly provider: SiteProvider;
  readonly surfaces: readonly string[];
  readonly redisUrl: string;
  readonly nodeOptions: string;
}): Record<string, string> {
  const { issuer, client, consoleUrl } = provider;
  return {
    NODE_OPTIONS: nodeOptions,
    REDIS_URL: redisByName(redisUrl),
    SERVER_SECRETS: newServerSecret(),
    PUBLIC_URL: consoleUrl,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    OIDC_AUDIENCES: JSON.stringify(
      surfaces.map((surface) => ({ surface, listener: 'admin', resource: audienceOf(surface) })),
    ),
  };
}

/** A replica of the console forwards to the replicas of its own number: no load balancer stands in between. */
export const forwardsTo = (replicas: readonly Replica[], index: number): Record<string, string> => ({
  CONSOLE_SURFACES: JSON.stringify(
    replicas
      .filter((one) => one.index === index)
      .map(({ surface, process }) => ({ id: surface, adminUrl: process.admin.origin })),
  ),
});
