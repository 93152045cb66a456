import { Bytes, type JsonValue } from '@sealgate/json';
import {
  hasMember,
  isObject,
  listAt,
  objectAt,
  type Place,
  rootObject,
  stringAt,
  UnreadableError,
  valueAt,
} from '../shape.ts';

/** A call and what peers signed about it. */
export interface AttestedCall {
  readonly where: string;
  readonly proposal: Bytes;
  readonly responses: readonly {
    readonly where: string;
    readonly mspId: string;
    readonly payload: Bytes;
    readonly endorsement: Bytes;
  }[];
}

/** A proof of a record on Fabric, and what its sender says that it proves. */
export interface FabricProofFile {
  readonly name: string;
  readonly where: string;
  readonly channel: string;
  readonly chaincode: string;
  readonly view: AttestedCall;
  readonly statement: AttestedCall & { readonly transactionId: string };
  readonly block: Bytes | undefined;
  readonly receipt: Place | undefined;
  readonly asset: Place | undefined;
  /** The content of the record, or the record with its place. */
  readonly record: Place | undefined;
}

const MAX_RESPONSES = 20;

/** Whether it is a proof of Fabric, alone or beside a receipt. */
export function isFabricProof(value: JsonValue): boolean {
  const kindOf = (one: JsonValue | undefined) => (isObject(one) ? one['kind'] : undefined);
  return kindOf(value) === 'fabric' || (isObject(value) && kindOf(value['proof']) === 'fabric');
}

/** Whether it is a trust file of a Fabric channel. */
export const isFabricTrust = (value: JsonValue): boolean => isObject(value) && value['kind'] === 'fabric-trust';

/**
 * Parses `{asset, receipt, proof}` of a ledger peer, `{receipt, proof, record}` of another surface, or the proof alone.
 * @throws UnreadableError if a member is missing or of another type.
 */
export function readFabricProof(name: string, value: JsonValue): FabricProofFile {
  if (!isFabricProof(value)) throw new UnreadableError(`${name} is no proof of a record on Fabric (kind fabric).`);
  const root = rootObject(name, value);
  const proof = hasMember(root, 'proof') ? objectAt(root, 'proof') : root;
  if (valueAt(proof, 'v') !== 1)
    throw new UnreadableError(`${proof.where}/v is not 1, the version that is known here.`);
  const statement = objectAt(proof, 'statement');
  const partOf = (member: string) =>
    proof !== root && isObject(root.object[member]) ? objectAt(root, member) : undefined;
  return {
    name,
    where: proof.where,
    channel: stringAt(proof, 'channel'),
    chaincode: stringAt(proof, 'chaincode'),
    view: readCall(objectAt(proof, 'view')),
    statement: { ...readCall(statement), transactionId: stringAt(statement, 'transactionId') },
    block: hasMember(proof, 'block') ? bytesAt(proof, 'block') : undefined,
    receipt: partOf('receipt'),
    asset: partOf('asset'),
    record: partOf('record'),
  };
}

function readCall(place: Place): AttestedCall {
  const responses = listAt(place, 'responses');
  if (responses.length > MAX_RESPONSES)
    throw new UnreadableError(`${place.where}/responses has more than ${MAX_RESPONSES} entries.`);
  return {
    where: place.where,
    proposal: bytesAt(place, 'proposal'),
    responses: responses.map((object, index) => {
      const where = `${place.where}/responses/${index}`;
      if (!isObject(object)) throw new UnreadableError(`${where} is not an object.`);
      const response = { where, object };
      return {
        where,
        mspId: stringAt(response, 'mspId'),
        payload: bytesAt(response, 'payload'),
        endorsement: bytesAt(response, 'endorsement'),
      };
    }),
  };
}

/** @throws UnreadableError if it is not base64 in its one form. */
function bytesAt(place: Place, member: string): Bytes {
  const text = stringAt(place, member);
  const bytes = Bytes.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new UnreadableError(`${place.where}/${member} is not base64.`);
  return bytes;
}
