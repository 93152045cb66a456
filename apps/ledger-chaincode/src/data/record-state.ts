import type { Context } from 'fabric-contract-api';
import type { RecordReader } from '../domain/read-records.ts';
import type { RecordHead, RecordVersion } from '../domain/record.ts';
import { invalid } from '../domain/refusal.ts';
import type { RecordWriter } from '../domain/write-records.ts';
import { headKey, headKeysBehind, idOfHeadKey, keysBehind, recordKey } from './record-keys.ts';

type ChaincodeStub = Context['stub'];

/** Access to the world state in the running transaction. */
export function recordState(stub: ChaincodeStub): RecordReader & RecordWriter {
  const head = (id: string) => getJson<RecordHead>(stub, headKey(id));
  return {
    transactionId: stub.getTxID(),
    get at() {
      return timeText(stub.getDateTimestamp());
    },
    head,
    put: async (version, replaced) => {
      const { id, type, contentHash, transactionId } = version;
      const newHead: RecordHead = { type, version: version.version, contentHash, transactionId };
      await putJson(stub, headKey(id), newHead);
      await putJson(stub, recordKey(type, id), version);
      // Type is content: a new version may have another type, and is then stored under another key.
      if (replaced !== undefined && replaced.type !== type) await stub.deleteState(recordKey(replaced.type, id));
    },
    read: async (id) => {
      const found = await head(id);
      return found === undefined ? undefined : getJson<RecordVersion>(stub, recordKey(found.type, id));
    },
    page: async (type, afterId, most) => {
      const [from, to] = keysBehind(type, afterId);
      const found: RecordVersion[] = [];
      for await (const { value } of stub.getStateByRangeWithPagination(from, to, most, '')) {
        found.push(fromJson<RecordVersion>(value)!);
      }
      return found;
    },
    list: async (prefix, afterId, most) => {
      const [from, to] = headKeysBehind(prefix, afterId);
      const keys: string[] = [];
      for await (const { key, value } of stub.getStateByRangeWithPagination(from, to, most, '')) {
        keys.push(recordKey(fromJson<RecordHead>(value)!.type, idOfHeadKey(key)));
      }
      const found: RecordVersion[] = [];
      for (const key of keys) found.push((await getJson<RecordVersion>(stub, key))!);
      return found;
    },
    versions: (id, most) => versionsOf(stub, id, most),
  };
}

/** A record whose type changed has versions under each type; its head lists them. */
async function versionsOf(stub: ChaincodeStub, id: string, most: number): Promise<RecordVersion[]> {
  const types = new Set((await pastValues<RecordHead>(stub, headKey(id), most)).map(({ type }) => type));
  const found: RecordVersion[] = [];
  for (const type of types) found.push(...(await pastValues<RecordVersion>(stub, recordKey(type, id), most)));
  return found.sort((left, right) => right.version - left.version).slice(0, most);
}

/** History of a key, newest first, without deletions. Leaving the loop closes the iterator. */
async function pastValues<Value>(stub: ChaincodeStub, key: string, most: number): Promise<Value[]> {
  const values: Value[] = [];
  for await (const { isDelete, value } of stub.getHistoryForKey(key)) {
    if (!isDelete) values.push(fromJson<Value>(value)!);
    if (values.length === most) break;
  }
  return values;
}

async function getJson<Value>(stub: ChaincodeStub, key: string): Promise<Value | undefined> {
  return fromJson<Value>(await stub.getState(key));
}

/** An absent key has no bytes. Only this contract writes these keys, so the value has its shape. */
function fromJson<Value>(bytes: Uint8Array): Value | undefined {
  return bytes.length === 0 ? undefined : (JSON.parse(Buffer.from(bytes).toString('utf8')) as Value);
}

/** Data and extra are stored as JSON strings: CouchDB parses JSON values and would reformat the numbers in them. */
async function putJson(stub: ChaincodeStub, key: string, value: RecordHead | RecordVersion): Promise<void> {
  await stub.putState(key, Buffer.from(JSON.stringify(value)));
}

function timeText(time: Date): string {
  const year = time.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) throw invalid("The transaction's timestamp is not a time of the years 0 to 9999.");
  return time.toISOString();
}
