import { AppError, refusedMember } from '@sealgate/errors';
import type { TableList } from '@sealgate/paging';
import type { Network, NetworkChange } from './network.ts';

/** The transaction of a change. */
interface Transaction {
  query<Row extends object>(statement: { readonly text: string; readonly values?: readonly unknown[] }): Promise<Row[]>;
}

/** Writes in the transaction of the change: its audit event. */
export type Also = (transaction: Transaction) => Promise<void>;

/** Steps of a deletion that run in its transaction. */
interface DeletionSteps {
  readonly isInUse: (transaction: Transaction) => Promise<boolean>;
  readonly also: Also;
}

export interface NetworkStore {
  /** Undefined where the id was used before, by a deleted network too. */
  insert(network: Omit<Network, 'createdAt'>, also: Also): Promise<Network | undefined>;
  find(networkId: string): Promise<Network | undefined>;
  readonly list: TableList<object, Network, 'networkId' | 'name' | 'createdAt'>;
  update(networkId: string, change: NetworkChange, also: Also): Promise<Network | undefined>;
  /** `isInUse` runs while keys and sources of the network cannot be created; a network in use is not deleted. */
  delete(networkId: string, at: Date, steps: DeletionSteps): Promise<'deleted' | 'already' | 'missing' | 'in use'>;
}

/** What managing a network needs besides its store. */
export interface NetworkPorts {
  readonly networks: NetworkStore;
  /**
   * Whether the network may use the channel with this full name: on Fabric, the channels configured there; in the
   * embedded ledger, all channels that no other surface owns.
   */
  holdsChannel(channel: string): Promise<boolean>;
  /** Creates the head of a channel in the ledger. Idempotent. */
  openChannel(network: string, channel: string): Promise<void>;
  countLiveKeys(networkId: string, transaction: Transaction): Promise<number>;
  countSources(networkId: string, transaction: Transaction): Promise<number>;
  readonly now: () => number;
}

/**
 * @throws AppError ALREADY_EXISTS, also for the id of a deleted network; UNKNOWN_CHANNEL: nothing is created then.
 * OUTCOME_UNKNOWN.
 */
export async function createNetwork(
  ports: NetworkPorts,
  network: Omit<Network, 'createdAt'>,
  also: Also,
): Promise<Network> {
  const notHeld = await notHeldOf(ports, network.networkId, network.channels);
  if (notHeld !== undefined) throw notHeld;
  const made = await ports.networks.insert(network, also);
  if (made === undefined)
    throw refusedMember('ALREADY_EXISTS', '/networkId', 'It was used before; a networkId is never reused.');
  await openChannels(ports, made);
  return made;
}

/** @throws AppError NOT_FOUND, UNKNOWN_CHANNEL: nothing is changed then. OUTCOME_UNKNOWN. */
export async function changeNetwork(
  ports: NetworkPorts,
  networkId: string,
  { change, also }: { change: NetworkChange; also: Also },
): Promise<Network> {
  const notHeld = await notHeldOf(ports, networkId, change.channels ?? []);
  if (notHeld !== undefined) {
    await findNetwork(ports.networks, networkId);
    throw notHeld;
  }
  const changed = await ports.networks.update(networkId, change, also);
  if (changed === undefined) throw noNetwork();
  await openChannels(ports, changed);
  return changed;
}

/** @throws AppError NOT_FOUND. */
export async function findNetwork(networks: NetworkStore, networkId: string): Promise<Network> {
  const network = await networks.find(networkId);
  if (network === undefined) throw noNetwork();
  return network;
}

/**
 * Deletes a network; its records stay in the ledger. Idempotent.
 * @throws AppError NOT_FOUND when it never existed, IN_USE while it has live keys or sources.
 */
export async function deleteNetwork(ports: NetworkPorts, networkId: string, also: Also): Promise<void> {
  const isInUse = async (transaction: Transaction) =>
    (await ports.countLiveKeys(networkId, transaction)) > 0 || (await ports.countSources(networkId, transaction)) > 0;
  const outcome = await ports.networks.delete(networkId, new Date(ports.now()), { isInUse, also });
  if (outcome === 'in use')
    throw new AppError('IN_USE', 'The network has live keys or sources; revoke and delete them first.');
  if (outcome === 'missing') throw noNetwork();
}

/** After the network is stored, so no outage may be told as one that changed nothing. @throws AppError OUTCOME_UNKNOWN. */
async function openChannels({ openChannel }: NetworkPorts, { networkId, channels }: Network): Promise<void> {
  try {
    for (const name of channels) await openChannel(networkId, `${networkId}.${name}`);
  } catch (cause) {
    const detail = 'The network is stored; whether its channels are open in the ledger is not known. Read it.';
    throw new AppError('OUTCOME_UNKNOWN', detail, { cause });
  }
}

/** The refusal of the first channel that the ledger does not hold. */
async function notHeldOf(
  { holdsChannel }: NetworkPorts,
  networkId: string,
  channels: readonly string[],
): Promise<AppError | undefined> {
  const held = await Promise.all(channels.map((name) => holdsChannel(`${networkId}.${name}`)));
  const index = held.indexOf(false);
  if (index < 0) return undefined;
  return refusedMember(
    'UNKNOWN_CHANNEL',
    `/channels/${index}`,
    'The channel is not available to this surface: another surface owns it, or it is missing from FABRIC_CONFIG.',
  );
}

function noNetwork(): AppError {
  return new AppError('NOT_FOUND', 'There is no such network.');
}
