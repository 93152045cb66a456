import { AppError } from '@sealgate/errors';
import { named, orNull } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import type { Mappings, Target } from './mapping.ts';
import { asked } from './read-assets.ts';
import { recordOfKey } from './record-key.ts';

const Text = Type.String();

export const TransactionCreator = named(
  'TransactionCreator',
  Type.Object({ mspId: Text, subject: Text }, { description: 'Who submitted it, by their certificate.' }),
);

/** A transaction in a block of a channel that mappings serve. */
export const ChannelTransaction = named(
  'ChannelTransaction',
  Type.Object({
    transactionId: Text,
    channel: Type.String({ description: '`<networkId>.<name>`' }),
    blockNumber: Type.Integer(),
    code: Type.String({ description: "Fabric's name of the validation code: `VALID`, or why it has no effect." }),
    creator: TransactionCreator,
    endorsers: Type.Array(Text, { description: 'MSP ids of the peers that endorsed it.' }),
    chaincode: Text,
    function: orNull(Text),
    keysWritten: Type.Array(Text, {
      description: 'Keys of the world state of the chaincode. Of our contract, those of records that a mapping serves.',
    }),
  }),
);
export type ChannelTransaction = Static<typeof ChannelTransaction>;

/** A transaction as its channel has it. */
export interface FoundTransaction extends Omit<ChannelTransaction, 'channel' | 'function' | 'keysWritten'> {
  readonly function: string;
  /** RFC 3339; undefined if there is none. */
  readonly at: string | undefined;
  /** Of every chaincode that it writes to. */
  readonly writes: readonly { readonly chaincode: string; readonly key: string; readonly isDelete: boolean }[];
  /** Before ids and types of the channel; '' if no other channel is stored there. */
  readonly prefix: string;
}

interface WantedTransaction {
  readonly transactionId: string;
  /** The name of the identity that asks; undefined: that of the driver. */
  readonly identity: string | undefined;
}

export interface ReadTransactionPorts {
  /** Undefined on a ledger without blocks. Rejects with LedgerUnavailableError. */
  readonly findTransaction:
    ((channel: string, wanted: WantedTransaction) => Promise<FoundTransaction | undefined>) | undefined;
  readonly mappings: Mappings;
}

const TRANSACTION_ID = /^[0-9a-f]{64}$/;

/**
 * A transaction of a chaincode that is mapped on its channel. One of our contract is served if a mapping serves a record
 * that it writes, and shows these alone: the others belong to other surfaces.
 *
 * @throws AppError NOT_FOUND, LEDGER_UNAVAILABLE
 */
export async function readTransaction(
  ports: ReadTransactionPorts,
  wanted: WantedTransaction,
): Promise<ChannelTransaction> {
  const { findTransaction, mappings } = ports;
  if (findTransaction !== undefined && TRANSACTION_ID.test(wanted.transactionId)) {
    const channels = new Set(mappings.targets.map(({ channel }) => channel));
    for (const channel of channels) {
      const found = await asked(findTransaction(channel, wanted));
      const served = found === undefined ? undefined : servedPart(found, channel, mappings);
      if (served !== undefined) return served;
    }
  }
  throw new AppError('NOT_FOUND', 'There is no such transaction.');
}

/** What this peer may show of it; undefined: nothing. */
function servedPart(
  { writes, prefix, at: _at, ...found }: FoundTransaction,
  channel: string,
  mappings: Mappings,
): ChannelTransaction | undefined {
  const target = mappings.targets.find((one) => one.channel === channel && one.chaincode === found.chaincode);
  if (target === undefined) return undefined;
  const own = writes.flatMap(({ chaincode, key }) => (chaincode === found.chaincode ? [key] : []));
  const keysWritten = target.shape.kind === 'records' ? servedKeys(own, { target, prefix, mappings }) : own;
  // A write of records that exist already writes nothing; on a channel that others share, it may be theirs.
  const isOurs = keysWritten.length > 0 || (own.length === 0 && prefix === '');
  return isOurs ? { ...found, channel, keysWritten } : undefined;
}

/** Of each served record, its own key and that of its head, which ends in the same id in hex. */
function servedKeys(
  keys: readonly string[],
  { target, prefix, mappings }: { readonly target: Target; readonly prefix: string; readonly mappings: Mappings },
): string[] {
  const servedIds = new Set(
    keys.flatMap((key) => {
      const record = recordOfKey(key, prefix);
      const isServed = record !== undefined && mappings.serves(record.type, target);
      return isServed ? [Buffer.from(prefix + record.id, 'utf8').toString('hex')] : [];
    }),
  );
  return keys.filter((key) => servedIds.has(key.slice(key.lastIndexOf('/') + 1)));
}
