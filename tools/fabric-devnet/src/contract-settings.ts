import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { DevnetError } from './devnet-error.ts';
import { collectionsFile } from './lifecycle.ts';
import { type ContractPrograms, furtherContracts, mostFurtherContracts, type NetworkPlan } from './network-plan.ts';

/** Also the label of its package, part of the names of its processes, and an argument of commands. */
const CONTRACT_NAME = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;
const MAX_CONTRACT_NAME = 40;
const OF_NODES = ['peer', 'orderer'];

/** @throws DevnetError for a name that no contract can have, too many contracts, or collections of none of them. */
export function checkContracts(programs: ContractPrograms, collections: Readonly<Record<string, string>>): void {
  const names = Object.keys(programs);
  const wrong = names.find(
    (name) => !CONTRACT_NAME.test(name) || name.length > MAX_CONTRACT_NAME || OF_NODES.includes(name),
  );
  if (wrong !== undefined)
    throw new DevnetError(
      `"${wrong}" cannot be the name of a contract: at most ${MAX_CONTRACT_NAME} of a-z, 0-9, - and _, a letter first, not ${OF_NODES.join(' or ')}.`,
    );
  if (furtherContracts(names).length > mostFurtherContracts)
    throw new DevnetError(
      `A network has room for ${mostFurtherContracts} contracts besides records and basic. Recreate it with others: add --fresh.`,
    );
  const stray = Object.keys(collections).find((name) => !names.includes(name));
  if (stray !== undefined)
    throw new DevnetError(`There are collections for ${stray}, but no such contract: add --with ${stray}=FILE.`);
}

/**
 * Copies definitions of collections into the network's folder, where containers can read them too. They are part of what
 * the organisations approved, so those of an existing contract cannot change.
 * @throws DevnetError
 */
export function keepCollections(
  plan: NetworkPlan,
  collections: Readonly<Record<string, string>>,
  existing: ContractPrograms,
): void {
  for (const [contract, from] of Object.entries(collections)) {
    if (!existsSync(from)) throw new DevnetError(`The file ${from} with the collections of ${contract} is missing.`);
    const file = collectionsFile(plan, contract);
    const text = readFileSync(from, 'utf8');
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
    if (existing[contract] !== undefined)
      throw new DevnetError(
        `The contract ${contract} was approved with other collections or none. Recreate the network to change them: add --fresh.`,
      );
    mkdirSync(plan.folders.collections, { recursive: true });
    writeFileSync(file, text);
  }
}
