import { baseEnv } from './base-env.ts';
import { composeNodes } from './compose-nodes.ts';
import { contractProcess, type ContractPrograms } from './contract-process.ts';
import { DevnetError } from './devnet-error.ts';
import type { CommandName, FabricCommands } from './fabric-commands.ts';
import { contractNames, organizationNames, type ContractName, type NetworkPlan, type Role } from './network-plan.ts';
import { nodeProcesses, type NodeProcesses, type ProcessSpec } from './node-processes.ts';
import { runCommand } from './run-command.ts';

export interface CommandRun {
  /** What to call it in a message. */
  readonly title: string;
  /** Added to what every command gets. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** The programs of a network: those that stay, by their role, and Fabric's commands that end. */
export interface Nodes {
  start(role: Role): Promise<void>;
  isRunning(role: Role): Promise<boolean>;
  /** In order; false where it did not run. */
  end(role: Role): Promise<boolean>;
  /** As a crash would. */
  kill(role: Role): Promise<boolean>;
  /** It stays, holds its connections and answers nothing. */
  freeze(role: Role): Promise<void>;
  thaw(role: Role): Promise<void>;
  /** Undefined where a container keeps it: `docker compose logs` shows it then. */
  logFile(role: Role): string | undefined;
  /** The end of its log; empty where there is none. */
  lastOutput(role: Role): Promise<string>;
  /** The process that runs on this machine as this role; undefined where a container does, or nothing. */
  pidOf(role: Role): number | undefined;
  /** Runs one of Fabric's commands to its end and gives what it printed. Throws DevnetError with its last words. */
  run(command: CommandName, parameters: readonly string[], run: CommandRun): Promise<string>;
}

export interface NodesOptions {
  readonly plan: NetworkPlan;
  /** Undefined: only what runs can be looked at and ended; nothing can be started. */
  readonly commands: FabricCommands | undefined;
  /** Whether nodes are containers; told apart from `commands`, since what runs may be looked at without them. */
  readonly inDocker: boolean;
  readonly programs: ContractPrograms;
  readonly env: NodeJS.ProcessEnv;
}

/** The nodes and commands of a network; a contract is a process of this machine even where the nodes are containers. */
export function openNodes(options: NodesOptions): Nodes {
  const { plan, inDocker, env } = options;
  const processes = nodeProcesses(plan.folders);
  const local = processNodes(options, processes);
  if (!inDocker) return local;
  const containers = composeNodes(plan, env);
  const of = (role: Role): Nodes => (isContract(role) ? local : containers);
  return {
    start: (role) => of(role).start(role),
    isRunning: (role) => of(role).isRunning(role),
    end: (role) => of(role).end(role),
    kill: (role) => of(role).kill(role),
    freeze: (role) => of(role).freeze(role),
    thaw: (role) => of(role).thaw(role),
    logFile: (role) => of(role).logFile(role),
    lastOutput: (role) => of(role).lastOutput(role),
    pidOf: (role) => local.pidOf(role),
    run: containers.run,
  };
}

/** The contract's name and organisation where the role is a contract's. */
export function contractOf(role: Role) {
  for (const contract of contractNames) {
    for (const organization of organizationNames) {
      if (role === `${contract}-${organization}`) return { contract, organization };
    }
  }
  return undefined;
}

const isContract = (role: Role): boolean => contractOf(role) !== undefined;

/** All roles of a network, in the order of their start: a contract waits for nobody, and a peer calls it only when asked. */
export const rolesOf = (contracts: readonly ContractName[]): readonly Role[] => [
  'orderer',
  ...organizationNames.map((name) => `peer-${name}` as const),
  ...rolesOfContracts(contracts),
];

/** One process of each contract for each organisation. */
export const rolesOfContracts = (contracts: readonly ContractName[]): readonly Role[] =>
  contracts.flatMap((contract) => organizationNames.map((name) => `${contract}-${name}` as const));

function processNodes({ plan, commands, programs, env }: NodesOptions, processes: NodeProcesses): Nodes {
  const fileOf = (name: CommandName): string => {
    if (commands?.from !== 'files') throw new DevnetError(`Fabric's command ${name} is needed for this.`);
    return commands.files[name];
  };
  const specOf = (role: Role): ProcessSpec => {
    const contract = contractOf(role);
    if (contract !== undefined) return contractProcess({ plan, programs, env, ...contract });
    const base = baseEnv(env);
    if (role === 'orderer')
      return {
        role,
        program: fileOf('orderer'),
        parameters: [],
        env: { ...base, FABRIC_CFG_PATH: plan.orderer.configFolder },
      };
    const { peer } = plan.organizations.find((organization) => organization.peer.role === role)!;
    return {
      role,
      program: fileOf('peer'),
      parameters: ['node', 'start'],
      env: { ...base, FABRIC_CFG_PATH: peer.configFolder },
    };
  };
  return {
    start: async (role) => processes.start(specOf(role)),
    isRunning: async (role) => processes.pidOf(role) !== undefined,
    end: (role) => processes.end(role),
    kill: (role) => processes.kill(role),
    freeze: async (role) => processes.signal(role, 'SIGSTOP'),
    thaw: async (role) => processes.signal(role, 'SIGCONT'),
    logFile: processes.logFile,
    lastOutput: async (role) => processes.lastOutput(role),
    pidOf: processes.pidOf,
    run: (command, parameters, { title, env: more, timeoutMs }) =>
      runCommand({
        program: fileOf(command),
        parameters,
        env: { ...baseEnv(env), ...more },
        title,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      }),
  };
}
