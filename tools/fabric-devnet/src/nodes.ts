import { composeNodes, type Nodes } from './compose-nodes.ts';
import { contractPackage } from './contract-package.ts';
import { DevnetError } from './devnet-error.ts';
import type { CommandName, FabricCommands } from './fabric-commands.ts';
import { type ContractPrograms, type NetworkPlan, type OrganizationName, type Role } from './network-plan.ts';
import { nodeProcesses, type NodeProcesses, type ProcessSpec } from './node-processes.ts';
import { runCommand } from './run-command.ts';

interface NodesOptions {
  readonly plan: NetworkPlan;
  /** Undefined: running nodes can be inspected and stopped, but none can be started. */
  readonly commands: FabricCommands | undefined;
  /** Whether nodes are containers; separate from `commands`, because running nodes can be inspected without them. */
  readonly inDocker: boolean;
  readonly programs: ContractPrograms;
  readonly env: NodeJS.ProcessEnv;
}

/** Opens the nodes and commands of a network. Contracts are local processes even if the nodes are containers. */
export function openNodes(options: NodesOptions): Nodes {
  const { plan, inDocker, env } = options;
  const processes = nodeProcesses(plan.folders);
  const local = processNodes(options, processes);
  if (!inDocker) return local;
  const containers = composeNodes(plan, env);
  const of = (role: Role): Nodes => (contractOf(plan, role) === undefined ? containers : local);
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

/** Contract and organisation of a contract's role; undefined for other roles. */
function contractOf({ organizations }: NetworkPlan, role: Role) {
  const organization = organizations.map(({ name }) => name).find((name) => role.endsWith(`-${name}`));
  if (organization === undefined || role === `peer-${organization}`) return undefined;
  return { contract: role.slice(0, -organization.length - 1), organization };
}

/** All roles of a network in start order. */
export const rolesOf = (plan: NetworkPlan, contracts: readonly string[]): readonly Role[] => [
  'orderer',
  ...plan.organizations.map(({ peer }) => peer.role),
  ...rolesOfContracts(plan, contracts),
];

/** One process of each contract for each organisation. */
export const rolesOfContracts = ({ organizations }: NetworkPlan, contracts: readonly string[]): readonly Role[] =>
  contracts.flatMap((contract) => organizations.map(({ name }) => `${contract}-${name}` as const));

function processNodes({ plan, commands, programs, env }: NodesOptions, processes: NodeProcesses): Nodes {
  const fileOf = (name: CommandName): string => {
    if (commands?.from !== 'files') throw new DevnetError(`Fabric's command ${name} is needed for this.`);
    return commands.files[name];
  };
  const specOf = (role: Role): ProcessSpec => {
    const contract = contractOf(plan, role);
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

interface ContractProcess {
  readonly plan: NetworkPlan;
  readonly programs: ContractPrograms;
  readonly env: NodeJS.ProcessEnv;
  readonly contract: string;
  readonly organization: OrganizationName;
}

/**
 * One process for each organisation: in production no organisation lets another's process answer for its peer. The
 * CHAINCODE_ variables are those of Fabric's own tools for Node contracts, the CORE_ variables those by which a Go
 * contract serves without a line of its own. It learns from CORE_PEER_LOCALMSPID whose peer it answers.
 */
function contractProcess({ plan, programs, env, contract, organization }: ContractProcess): ProcessSpec {
  const owner = plan.organizations.find(({ name }) => name === organization)!;
  const program = programs[contract];
  if (program === undefined) throw new Error(`There is no program for the contract ${contract}.`);
  const { id } = contractPackage(plan, contract, organization);
  return {
    role: `${contract}-${organization}`,
    ...(isNodeProgram(program)
      ? { program: process.execPath, parameters: ['--disable-warning=ExperimentalWarning', program] }
      : { program, parameters: [] }),
    env: {
      ...baseEnv(env),
      NODE_ENV: 'production',
      CHAINCODE_ID: id,
      CHAINCODE_SERVER_ADDRESS: `127.0.0.1:${owner.contractPorts[contract]}`,
      CHAINCODE_TLS_CERT_FILE: owner.contractTls.certFile,
      CHAINCODE_TLS_KEY_FILE: owner.contractTls.keyFile,
      CORE_CHAINCODE_ID_NAME: id,
      CORE_PEER_TLS_ENABLED: 'true',
      CORE_TLS_CLIENT_CERT_FILE: owner.contractTls.certFile,
      CORE_TLS_CLIENT_KEY_FILE: owner.contractTls.keyFile,
      CORE_PEER_LOCALMSPID: owner.mspId,
    },
  };
}

const isNodeProgram = (program: string): boolean => /\.[cm]?[jt]s$/.test(program);

/** Drops the caller's CORE_ and ORDERER_ variables, which would override Fabric's configuration files. */
function baseEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'FABRIC_LOGGING_SPEC'].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { FABRIC_LOGGING_SPEC: 'info:gossip=warning', ...Object.fromEntries(kept) };
}
