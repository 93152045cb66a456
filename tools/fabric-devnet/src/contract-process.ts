import { baseEnv } from './base-env.ts';
import type { ContractName, NetworkPlan, OrganizationName } from './network-plan.ts';
import type { ProcessSpec } from './node-processes.ts';
import { contractPackage } from './contract-package.ts';

/** The Node program of each contract: an absolute path. A contract without one is not part of the network. */
export type ContractPrograms = Readonly<Partial<Record<ContractName, string>>>;

interface ContractProcess {
  readonly plan: NetworkPlan;
  readonly programs: ContractPrograms;
  readonly env: NodeJS.ProcessEnv;
  readonly contract: ContractName;
  readonly organization: OrganizationName;
}

/**
 * One process for each organisation: in production nobody would let another's process answer for his peer. The names of
 * the variables are those of Fabric's own tools for contracts in Node.
 */
export function contractProcess({ plan, programs, env, contract, organization }: ContractProcess): ProcessSpec {
  const owner = plan.organizations.find(({ name }) => name === organization)!;
  const program = programs[contract];
  if (program === undefined) throw new Error(`There is no program for the contract ${contract}.`);
  return {
    role: `${contract}-${organization}`,
    program: process.execPath,
    parameters: ['--disable-warning=ExperimentalWarning', program],
    env: {
      ...baseEnv(env),
      NODE_ENV: 'production',
      CHAINCODE_ID: contractPackage(plan, contract, organization).id,
      CHAINCODE_SERVER_ADDRESS: `127.0.0.1:${owner.contractPorts[contract]}`,
      CHAINCODE_TLS_CERT_FILE: owner.contractTls.certFile,
      CHAINCODE_TLS_KEY_FILE: owner.contractTls.keyFile,
    },
  };
}
