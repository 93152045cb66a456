import type { Receipt, RecordProof } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { readDeclaration } from './check-declaration.ts';
import {
  hasMember,
  isObject,
  numberAt,
  objectAt,
  rootObject,
  stringAt,
  stringOrNullAt,
  stringsAt,
  valueAt,
} from './shape.ts';
import type { Place } from './shape.ts';

/** The content of a record, from one part of a file. */
export interface StatedContent {
  readonly where: string;
  readonly data: JsonValue;
  /** Further members of that part, to be compared with the receipt; empty for the receipt itself. */
  readonly members: Place['object'];
}

/** A file `{receipt, proof}`, with the content next to it, if any. */
export interface ReceiptFile {
  readonly name: string;
  readonly receipt: Receipt;
  readonly proof: RecordProof;
  readonly contents: readonly StatedContent[];
}

/**
 * Parses a proof from the admin API or the ledger peer: `{receipt, proof}`, perhaps with the content as `receipt.data`,
 * `record` or `asset`. @throws UnreadableError if a member is missing or of another type.
 */
export function readReceiptFile(name: string, value: JsonValue): ReceiptFile {
  const root = rootObject(name, value);
  const receipt = objectAt(root, 'receipt');
  return {
    name,
    receipt: readReceipt(receipt),
    proof: readProof(objectAt(root, 'proof')),
    contents: [
      ...contentOf(receipt).map((content) => ({ ...content, members: {} })),
      ...['record', 'asset'].flatMap((member) => contentIn(root, member)),
    ],
  };
}

export function readReceipt(place: Place): Receipt {
  return {
    network: stringAt(place, 'network'),
    channel: stringAt(place, 'channel'),
    id: stringAt(place, 'id'),
    type: stringAt(place, 'type'),
    owner: stringOrNullAt(place, 'owner'),
    dataHash: stringAt(place, 'dataHash'),
    salt: stringOrNullAt(place, 'salt'),
    extra: valueAt(place, 'extra'),
    transactionId: stringAt(place, 'transactionId'),
    at: stringAt(place, 'at'),
    index: numberAt(place, 'index'),
    ...epochAt(place),
  };
}

/** The epoch of the log; undefined for the first log of the channel. */
export function epochAt(place: Place): { readonly epoch?: number } {
  return hasMember(place, 'epoch') ? { epoch: numberAt(place, 'epoch') } : {};
}

/** The content in this object, as `data`. */
export function contentOf(place: Place): StatedContent[] {
  if (!hasMember(place, 'data')) return [];
  return [{ where: `${place.where}/data`, data: valueAt(place, 'data'), members: place.object }];
}

function readProof(place: Place): RecordProof {
  return {
    channel: stringAt(place, 'channel'),
    index: numberAt(place, 'index'),
    leafHash: stringAt(place, 'leafHash'),
    treeSize: numberAt(place, 'treeSize'),
    inclusionPath: stringsAt(place, 'inclusionPath'),
    checkpoint: stringAt(place, 'checkpoint'),
    ...epochAt(place),
    ...(hasMember(place, 'origin') ? { origin: stringAt(place, 'origin') } : {}),
    ...declarationAt(place),
  };
}

function declarationAt(place: Place): Pick<RecordProof, 'declaration'> {
  if (!hasMember(place, 'declaration')) return {};
  const { statement, inclusionPath } = readDeclaration(objectAt(place, 'declaration'));
  return { declaration: { statement, inclusionPath: [...inclusionPath] } };
}

function contentIn(root: Place, member: string): StatedContent[] {
  return isObject(root.object[member]) ? contentOf(objectAt(root, member)) : [];
}
