import { existsSync } from 'node:fs';
import { readMemory } from './network-folder.ts';
import { contractNames, networkPlan, portsOf, type NetworkPlan, type Role } from './network-plan.ts';
import { openNodes, rolesOf } from './nodes.ts';
import { isServing } from './running-roles.ts';

export interface RoleStatus {
  readonly role: Role;
  readonly running: boolean;
  /** Every port of it takes connections. */
  readonly listening: boolean;
  /** Undefined where it does not run, or runs in a container. */
  readonly pid: number | undefined;
  readonly ports: readonly number[];
  /** Undefined where a container keeps the log. */
  readonly logFile: string | undefined;
}

export interface NetworkStatus {
  /** `up`: every program runs and listens; `partly`: some; `down`: none runs; `absent`: no network was made there. */
  readonly state: 'up' | 'partly' | 'down' | 'absent';
  readonly data: string;
  readonly roles: readonly RoleStatus[];
  /** How clients reach the network, by organisation. */
  readonly connectionFiles: Readonly<Record<string, string>>;
}

/** Looks at the programs of the network and changes nothing. Whether a transaction commits is what `up` tells. */
export async function status({
  data,
  env,
}: {
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
}): Promise<NetworkStatus> {
  const memory = existsSync(data) ? readMemory(data) : undefined;
  if (memory === undefined) return { state: 'absent', data, roles: [], connectionFiles: {} };
  const plan = networkPlan(data, memory);
  const nodes = openNodes({ plan, commands: undefined, programs: {}, env, inDocker: memory.inDocker });
  const contracts = contractNames.filter((name) => memory.programs[name] !== undefined);
  const ports = portsOf(plan, contracts);
  const roles = await Promise.all(
    rolesOf(contracts).map(async (role) => {
      const running = await nodes.isRunning(role);
      return {
        role,
        running,
        listening: running && (await isServing(plan, role)),
        pid: nodes.pidOf(role),
        ports: ports.filter((entry) => entry.role === role).map(({ port }) => port),
        logFile: nodes.logFile(role),
      };
    }),
  );
  return { state: stateOf(roles), data, roles, connectionFiles: connectionFilesOf(plan) };
}

function stateOf(roles: readonly RoleStatus[]): NetworkStatus['state'] {
  if (roles.every(({ listening }) => listening)) return 'up';
  return roles.some(({ running }) => running) ? 'partly' : 'down';
}

const connectionFilesOf = ({ organizations }: NetworkPlan): Readonly<Record<string, string>> =>
  Object.fromEntries(
    organizations.map(({ name, connectionFile }) => [name, connectionFile]).filter(([, file]) => existsSync(file!)),
  );
