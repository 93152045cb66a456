import { existsSync } from 'node:fs';
import { readMemory } from './network-folder.ts';
import { contractsWithPrograms, networkPlan, portsOf, type NetworkPlan, type Role } from './network-plan.ts';
import { openNodes, rolesOf } from './nodes.ts';
import { isServing } from './running-roles.ts';

interface RoleStatus {
  readonly role: Role;
  readonly running: boolean;
  /** Whether every port of it accepts connections. */
  readonly listening: boolean;
  /** Undefined if it is not running, or runs in a container. */
  readonly pid: number | undefined;
  readonly ports: readonly number[];
  /** Undefined for a container: see `docker compose logs`. */
  readonly logFile: string | undefined;
}

export interface NetworkStatus {
  /** `up`: all programs are listening; `partly`: some are running; `down`: none is; `absent`: there is no network. */
  readonly state: 'up' | 'partly' | 'down' | 'absent';
  readonly data: string;
  readonly roles: readonly RoleStatus[];
  /** FABRIC_CONFIG files, by organisation. */
  readonly connectionFiles: Readonly<Record<string, string>>;
}

/** Reads the state of the network without changing it. Whether transactions commit is checked by `up`. */
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
  const contracts = contractsWithPrograms(memory.programs);
  const ports = portsOf(plan, contracts);
  const roles = await Promise.all(
    rolesOf(plan, contracts).map(async (role) => {
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
