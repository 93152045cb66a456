import { enumOf, named, orNull } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import { AnyJson } from './asset.ts';
import { makeEventCursor, type EventPosition } from './event-cursor.ts';

const Text = Type.String();

/** `commit`: a transaction is in the ledger. `contract`: what a contract on Fabric emitted. */
export const EventKind = enumOf('LedgerEventKind', ['commit', 'contract']);
export type EventKind = (typeof EventKind)['static'];

export const LedgerEvent = named(
  'LedgerEvent',
  Type.Object({
    cursor: Type.String({ description: 'Resumes after this event; of this channel only.' }),
    channel: Text,
    chaincode: Text,
    blockNumber: Type.Integer({ description: 'On the embedded ledger the first index of the transaction.' }),
    transactionId: Text,
    code: Type.String({
      description: '`VALID`, or the validation code of Fabric: then the transaction had no effect.',
    }),
    at: orNull(
      Type.String({
        description: 'On Fabric the time that its submitter chose. Null for archived records of the embedded ledger.',
      }),
    ),
    assets: Type.Optional(
      Type.Array(Type.Object({ id: Text, type: Text }), {
        description: 'Of a `commit`, where they are known: those of types that this peer serves.',
      }),
    ),
    name: Type.Optional(Type.String({ description: 'Of a `contract` event.' })),
    payload: Type.Optional({
      ...AnyJson({}),
      description: 'Of a `contract` event: JSON where it is JSON, else a string in base64. Absent if empty.',
    }),
  }),
);

interface AssetName {
  readonly id: string;
  readonly type: string;
}

/** An event as a ledger has it, whoever may see it. */
export interface SourceEvent {
  readonly kind: EventKind;
  readonly position: EventPosition;
  readonly blockNumber: number;
  readonly transactionId: string;
  readonly chaincode: string;
  readonly code: string;
  readonly at: string | undefined;
  /** The assets of its transaction; undefined: a third-party contract was called in a way that no mapping knows. */
  readonly assets: readonly AssetName[] | undefined;
  readonly name?: string;
  /** JSON without line breaks. */
  readonly payload?: string;
}

/** The data of a message: JSON without line breaks, with the numbers of a payload as they were. */
export function eventText(channel: string, event: SourceEvent): string {
  const { kind, position, chaincode, blockNumber, transactionId, code, at = null, assets, name, payload } = event;
  const common = {
    cursor: makeEventCursor(channel, position),
    channel,
    chaincode,
    blockNumber,
    transactionId,
    code,
    at,
  };
  const text = JSON.stringify(kind === 'commit' ? { ...common, assets } : { ...common, name });
  return payload === undefined ? text : `${text.slice(0, -1)},"payload":${payload}}`;
}
