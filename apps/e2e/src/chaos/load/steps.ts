import type { History } from '../history.ts';
import type { Site } from '../site.ts';
import type { World } from '../world.ts';
import type { Client } from './client.ts';
import { consoleSteps } from './console.ts';
import { gateSteps } from './gate.ts';
import { ingestSteps } from './ingest.ts';
import type { Step } from './load.ts';
import { peerSteps } from './peer.ts';
import { riskSteps } from './risk.ts';
import { checkpointStep } from './watch.ts';

/** How many do each thing at once. */
const AT_ONCE = {
  ...{ write: 10, deliver: 4, apply: 2, check: 20, sync: 2, job: 1, asset: 1, evidence: 1, page: 1 },
  ...{ operate: 3, intrude: 1 },
} as const;

/** Everything that clients do, for the surfaces that run. */
export function stepsOf({
  site,
  client,
  history,
  world,
}: {
  readonly site: Site;
  readonly client: Client;
  readonly history: History;
  readonly world: World;
}): readonly { readonly name: string; readonly step: Step }[] {
  const { networks, environments, organisations } = world;
  const steps: Readonly<Record<string, Step>> = {
    ...(networks.length > 0 ? ingestSteps(client, networks) : {}),
    ...(environments.length > 0 ? gateSteps(site, client, environments) : {}),
    ...(site.replicasOf('ledger-peer').length > 0 ? peerSteps(site, client) : {}),
    ...(organisations.length > 0 ? riskSteps(client, organisations) : {}),
    ...(site.provider === undefined ? {} : consoleSteps(site, site.provider, client)),
  };
  const many = Object.entries(steps).flatMap(([name, step]) => {
    const count = AT_ONCE[name as keyof typeof AT_ONCE];
    return Array.from({ length: count }, () => ({ name, step }));
  });
  return [...many, { name: 'checkpoint', step: checkpointStep(site, history, networks) }];
}
