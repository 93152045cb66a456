import type { JsonValue } from '@sealgate/json';
import { type FabricProofFile, isFabricProof, readFabricProof } from './fabric/proof-file.ts';
import { readReceiptFile, type ReceiptFile } from './receipt-file.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  type Place,
  rootObject,
  stringAt,
  stringOrNullAt,
  UnreadableError,
  valueAt,
} from './shape.ts';

/** One event of a case in a pack. */
interface PackEvent {
  readonly where: string;
  readonly seq: number;
  readonly event: string;
  readonly data: JsonValue;
  readonly prevHash: string | null;
  readonly hash: string;
  /** All members except `hash`: the hash is over them. */
  readonly rest: JsonObject;
}

/** One seal of a pack: the sealed document, and its proof in the ledger. */
export interface PackSeal {
  readonly where: string;
  readonly document: Place;
  readonly sealHash: string;
  readonly ledgerRecordId: string;
  /** What the receipt of its proof says; undefined if it has no proof. */
  readonly stated: { readonly id: string; readonly type: string } | undefined;
  /** Its proof in a log. */
  readonly record: ReceiptFile | undefined;
  /** Its proof by peers of a Fabric channel. */
  readonly peers: FabricProofFile | undefined;
}

/** An assessor pack. */
export interface PackFile {
  readonly name: string;
  readonly caseId: string;
  readonly subjectRef: string;
  readonly packHash: string;
  readonly signature: string;
  /** All members that are hashed and signed. */
  readonly signed: JsonObject;
  readonly timeline: readonly PackEvent[];
  readonly decisions: readonly Place[];
  readonly attachments: readonly Place[];
  readonly seals: readonly PackSeal[];
}

/** Members next to the hashed ones: generation time, hash, signature. */
const BESIDE: ReadonlySet<string> = new Set(['generated_at', 'pack_hash', 'signature']);

/** @throws UnreadableError if a member is missing or of another type, or the format is unknown. */
export function readPackFile(name: string, value: JsonValue): PackFile {
  const root = rootObject(name, value);
  const canonicalization = stringAt(root, 'canonicalization');
  if (canonicalization !== 'RFC8785') {
    throw new UnreadableError(
      `${root.where}/canonicalization is ${canonicalization}; this verifier knows RFC8785 alone.`,
    );
  }
  stringAt(root, 'generated_at');
  return {
    name,
    caseId: stringAt(root, 'case_id'),
    subjectRef: stringAt(root, 'subject_ref'),
    packHash: stringAt(root, 'pack_hash'),
    signature: stringAt(root, 'signature'),
    signed: Object.fromEntries(Object.entries(root.object).filter(([member]) => !BESIDE.has(member))),
    timeline: placesIn(root, 'timeline').map(readEvent),
    decisions: placesIn(root, 'decisions'),
    attachments: placesIn(root, 'attachments'),
    seals: placesIn(root, 'seals').map(readSeal),
  };
}

function placesIn(root: Place, member: string): Place[] {
  return listAt(root, member).map((value, index) => {
    const where = `${root.where}/${member}/${index}`;
    if (!isObject(value)) throw new UnreadableError(`${where} is not an object.`);
    return { where, object: value };
  });
}

function readEvent(place: Place): PackEvent {
  const { hash: _hash, ...rest } = place.object;
  return {
    where: place.where,
    seq: numberAt(place, 'seq'),
    event: stringAt(place, 'event'),
    data: valueAt(place, 'data'),
    prevHash: stringOrNullAt(place, 'prev_hash'),
    hash: stringAt(place, 'hash'),
    rest,
  };
}

function readSeal(place: Place): PackSeal {
  const document = objectAt(place, 'document');
  const contents = [{ where: document.where, data: document.object, members: {} }];
  const seal = {
    where: place.where,
    document,
    sealHash: stringAt(place, 'seal_hash'),
    ledgerRecordId: stringAt(place, 'ledger_record_id'),
  };
  if (valueAt(place, 'proof') === null) return { ...seal, stated: undefined, record: undefined, peers: undefined };
  const { where, object } = objectAt(place, 'proof');
  const receipt = objectAt({ where, object }, 'receipt');
  const stated = { id: stringAt(receipt, 'id'), type: stringAt(receipt, 'type') };
  if (isFabricProof(object)) return { ...seal, stated, record: undefined, peers: readFabricProof(where, object) };
  return { ...seal, stated, record: { ...readReceiptFile(where, object), contents }, peers: undefined };
}
