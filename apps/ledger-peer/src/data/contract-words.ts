import assert from 'node:assert/strict';
import type { JsonValue } from '@sealgate/json';
import { fillArgument, placeholdersIn, type Placeholder } from '../domain/argument-template.ts';
import {
  UnreadableAnswerError,
  type FoundPage,
  type PageQuery,
  type FoundAsset,
  type NewAsset,
  type WriteOutcome,
} from '../domain/asset-ledger.ts';
import type { ContractResult, FailureCode } from '../domain/asset-result.ts';
import type { Action, ContractShape, History, Target } from '../domain/mapping.ts';
import { byCodePoints } from '../domain/read-assets.ts';
import { contractMessage, contractResult, isJson, refusalMessage, withoutTransient } from './contract-texts.ts';
import { withBareNames } from './record-text.ts';

interface WriteCall {
  readonly transaction: string;
  readonly args: readonly string[];
  /** By name. */
  readonly transient?: Readonly<Record<string, string>> | undefined;
}

/** Encodes the calls of a contract and decodes its results. */
export interface ContractWords {
  /** Whether one transaction accepts several assets. */
  readonly takesMany: boolean;
  /** Writes the assets, or runs the action on the only one. @throws MissingMemberError */
  writeCall(assets: readonly NewAsset[]): WriteCall;
  readArguments(id: string): string[];
  queryArguments(query: PageQuery): string[];
  /** The transaction that holds each asset after a write; undefined: that of the write. */
  receipts(
    result: Buffer,
    assets: readonly NewAsset[],
  ): { readonly id: string; readonly transactionId: string | undefined }[];
  /** What a transaction returned, for the caller; undefined: nothing, or receipts. */
  returned(result: Buffer, assets: readonly NewAsset[]): ContractResult | undefined;
  /** Decodes a rejection. */
  refusal(message: string, assets: readonly NewAsset[]): Omit<Extract<WriteOutcome, { outcome: 'refused' }>, 'outcome'>;
  saysAbsent(message: string): boolean;
  /** Undefined: no such asset. @throws UnreadableAnswerError */
  asset(answer: Buffer): FoundAsset | undefined;
  /** @throws UnreadableAnswerError */
  page(answer: Buffer, query: PageQuery): FoundPage;
}

/** The asset cannot be sent: its data lacks a member that is an argument of the mapped transaction. */
export class MissingMemberError extends Error {
  override readonly name = 'MissingMemberError';
  readonly assetId: string;

  constructor(assetId: string, member: string) {
    super(`The mapped transaction needs the member ${member} of the data, which is missing.`);
    this.assetId = assetId;
  }
}

/** @param place.prefix added to ids and types of our own contract if the Fabric channel is shared. */
export function contractWords(
  target: Pick<Target, 'shape' | 'transactions'>,
  place: { readonly prefix: string },
): ContractWords {
  const { shape, transactions } = target;
  return shape.kind === 'records'
    ? recordsWords(place.prefix, transactions.write)
    : positionalWords(shape, transactions.write);
}

interface ContractRecord {
  readonly id: string;
  readonly type: string;
  readonly [member: string]: JsonValue;
}

interface ContractReceipt {
  readonly id: string;
  readonly transactionId: string;
}

const OUR_REFUSAL = /(RECORD_CONFLICT|INVALID_REQUEST):(\{.*\})/s;

/** Our own contract; see the README of `apps/ledger-chaincode`. */
function recordsWords(prefix: string, transaction: string): ContractWords {
  const bare = (text: unknown): string => {
    if (typeof text !== 'string')
      throw new UnreadableAnswerError('A record of the contract lacks the member id or type.');
    if (!text.startsWith(prefix)) throw new UnreadableAnswerError('The contract returned a record of another channel.');
    return text.slice(prefix.length);
  };
  const shown = (record: ContractRecord): JsonValue => ({ ...record, id: bare(record.id), type: bare(record.type) });
  return {
    takesMany: true,
    writeCall: (assets) => {
      const records = assets.map(({ id, type, text }) => ({
        ...{ id: prefix + id, type: prefix + type },
        ...{ owner: null, data: text, extra: null },
      }));
      return { transaction, args: [JSON.stringify(records)] };
    },
    readArguments: (id) => [prefix + id],
    queryArguments: ({ type, limit, after }) => [
      prefix + type,
      String(limit),
      typeof after === 'string' ? prefix + after : '',
    ],
    receipts: (result) =>
      (JSON.parse(result.toString('utf8')) as ContractReceipt[]).map(({ id, transactionId }) => ({
        id: bare(id),
        transactionId,
      })),
    returned: () => undefined,
    refusal(message) {
      const [, code, facts] = OUR_REFUSAL.exec(message) ?? [];
      if (code === 'RECORD_CONFLICT' && facts !== undefined) {
        const { id } = JSON.parse(facts) as { id: string };
        return { code, message: 'The id is taken by other content.', id: bare(id) };
      }
      return { code: 'INVALID_REQUEST', message: refusalMessage(message), contractMessage: contractMessage(message) };
    },
    saysAbsent: () => false,
    asset(answer) {
      if (answer.length === 0) return undefined;
      const unparsed = withBareNames(answer, bare);
      if (unparsed !== undefined) return unparsed;
      const record = recordIn(answer);
      return { text: JSON.stringify(shown(record)), type: bare(record.type) };
    },
    page(answer) {
      const { records, bookmark } = recordIn(answer);
      if (isNone(records)) return { assets: [], next: undefined };
      if (!Array.isArray(records)) throw new UnreadableAnswerError('The contract returned no list of records.');
      const assets = (records as readonly unknown[]).map((record) => shown(asRecord(record)));
      const isLast = assets.length === 0 || bookmark === '' || isNone(bookmark);
      return { assets, next: isLast ? undefined : bare(bookmark) };
    },
  };
}

/** @throws UnreadableAnswerError unless it is a JSON object. */
function recordIn(answer: Buffer): ContractRecord {
  let value: unknown;
  try {
    value = JSON.parse(answer.toString('utf8'));
  } catch {
    throw new UnreadableAnswerError('The contract returned text that is not JSON.');
  }
  return asRecord(value);
}

function asRecord(value: unknown): ContractRecord {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ContractRecord;
  throw new UnreadableAnswerError('The contract returned something else than a record.');
}

/** An empty list is null in the JSON of a Go program, or absent. */
const isNone = (value: unknown): boolean => value === null || value === undefined;

type Positional = Extract<ContractShape, { kind: 'positional' }>;

/** A third-party contract, as described by the mapping. */
function positionalWords(shape: Positional, transaction: string): ContractWords {
  const { write, read, query = [], collections, idMember, absentWords, existsWords } = shape;
  const says = (words: readonly string[], message: string): boolean => words.some((word) => message.includes(word));
  const actionIn = ([asset]: readonly NewAsset[]): Action | undefined =>
    asset?.action === undefined ? undefined : shape.actions[asset.action];
  return {
    takesMany: takesMany(write),
    writeCall: (assets) => {
      const call = actionIn(assets) ?? { transaction, arguments: write };
      const args = call.arguments.map((text) => writeArgument(text, assets));
      return { transaction: call.transaction, args, transient: assets[0]?.transient };
    },
    readArguments: (id) =>
      read.map((text) => fillArgument(text, ({ name }) => (name === 'collection' ? collections.read! : id))),
    queryArguments: (asked) =>
      query.map((text) =>
        fillArgument(text, (place) => (place.name === 'collection' ? collections.query! : queryValue(asked, place))),
      ),
    receipts: (_result, assets) => assets.map(({ id }) => ({ id, transactionId: undefined })),
    returned: (result, assets) => contractResult(result, actionIn(assets)?.returns),
    refusal: (message, assets) => {
      const said = withoutTransient(message, assets);
      const code = refusalCode(actionIn(assets) !== undefined, says(existsWords, message));
      return { code, message: refusalMessage(said), contractMessage: contractMessage(said) };
    },
    saysAbsent: (message) => says(absentWords, message),
    asset(answer) {
      const text = answer.toString('utf8');
      // A contract that returns nothing, or null, has no such asset.
      if (text === '' || text === 'null') return undefined;
      return { text: isJson(text) ? text : JSON.stringify(text), type: undefined };
    },
    page(answer, asked) {
      const value = valueOf(answer.toString('utf8') || '[]') ?? [];
      const paged = query.flatMap(placeholdersIn).some(({ name }) => name === 'bookmark')
        ? bookmarkedPage(value, idMember)
        : undefined;
      return paged ?? sortedPage(value, { ...asked, idMember });
    },
  };
}

function refusalCode(isAction: boolean, isTaken: boolean): FailureCode {
  if (isAction) return 'CONTRACT_REFUSED';
  return isTaken ? 'RECORD_CONFLICT' : 'INVALID_REQUEST';
}

const takesMany = (write: readonly string[]): boolean =>
  write.flatMap(placeholdersIn).some(({ name }) => name === 'assets');

function writeArgument(text: string, assets: readonly NewAsset[]): string {
  const [asset] = assets;
  if (asset === undefined) throw new Error('A write has an asset.');
  // Encoded before, for its size.
  return text === '{data}' ? asset.text : fillArgument(text, (place) => writeValue(assets, asset, place));
}

function writeValue(assets: readonly NewAsset[], asset: NewAsset, { name, fallback }: Placeholder): JsonValue {
  const { id, type, data } = asset;
  if (name === 'assets') return assets.map((one) => ({ id: one.id, type: one.type, data: one.data }));
  if (name === 'id') return id;
  if (name === 'type') return type;
  if (name === 'data') return data;
  const member = name.slice('data.'.length);
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  const value = isObject && Object.hasOwn(data, member) ? data[member] : fallback;
  if (value === undefined) throw new MissingMemberError(id, member);
  return value;
}

function queryValue({ type, limit, after, filter }: PageQuery, { name, fallback }: Placeholder): JsonValue {
  if (name === 'type') return type;
  if (name === 'limit') return limit;
  if (name === 'bookmark') return typeof after === 'string' ? after : '';
  const of = name.slice('filter.'.length);
  const text = filter !== undefined && Object.hasOwn(filter, of) ? filter[of] : fallback;
  assert(text !== undefined, 'A query without a filter that it needs is refused before.');
  return text;
}

/** A contract that pages itself: `{records, bookmark}`, like ours. */
function bookmarkedPage(value: JsonValue, idMember: string): FoundPage | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) return undefined;
  const { records, bookmark } = value;
  if (isNone(records) && bookmark === undefined && Object.hasOwn(value, idMember)) return undefined;
  const assets = isNone(records) ? [] : records;
  if (!Array.isArray(assets)) throw new UnreadableAnswerError('The member records of the page is no list.');
  for (const asset of assets) idOf(asset, idMember);
  // A contract may return a bookmark for ever: an empty page is the last one.
  const isLast = assets.length === 0 || typeof bookmark !== 'string' || bookmark === '';
  return { assets, next: isLast ? undefined : bookmark };
}

/** @throws UnreadableAnswerError if it has no id. */
function idOf(asset: JsonValue, idMember: string): string {
  const isObject = typeof asset === 'object' && asset !== null && !Array.isArray(asset);
  const id: unknown = isObject && Object.hasOwn(asset, idMember) ? asset[idMember] : undefined;
  if (typeof id === 'string') return id;
  if (typeof id === 'number' || isRawJSON(id)) return JSON.stringify(id);
  throw new UnreadableAnswerError(
    `An asset that the contract returned lacks the member ${idMember}, which the mapping names as idMember.`,
  );
}

/** A contract that returns everything: sorted and paged here. */
function sortedPage(value: JsonValue, { limit, after, idMember }: PageQuery & { idMember: string }): FoundPage {
  const all = (Array.isArray(value) ? value : [value]).map((asset) => ({ id: idOf(asset, idMember), asset }));
  const sorted = all.sort((one, other) => byCodePoints(one.id, other.id));
  const rest = typeof after === 'string' ? sorted.filter(({ id }) => byCodePoints(id, after) > 0) : sorted;
  const shown = rest.slice(0, limit);
  return { assets: shown.map(({ asset }) => asset), next: rest.length > limit ? shown.at(-1)?.id : undefined };
}

/** Output of a contract as JSON: text that is not JSON becomes a JSON string. */
function valueOf(text: string): JsonValue {
  if (!isJson(text)) return text;
  return JSON.parse(text, LONG_NUMBER.test(text) ? (asWritten as Reviver) : undefined) as JsonValue;
}

/** Only such numbers may change as a double; a false match inside a string costs only time. */
const LONG_NUMBER = /[\d.]{16}|\d[eE]/;

type Reviver = (name: string, value: unknown) => unknown;

/** TypeScript's libraries do not type the source text access of `JSON.parse` yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  readonly rawJSON: (text: string) => unknown;
  readonly isRawJSON: (value: unknown) => boolean;
};

/** Contracts use integers of 64 bits and more, so a number that a double would change keeps its text. */
function asWritten(_name: string, value: unknown, { source }: { readonly source: string }): unknown {
  return typeof value === 'number' && String(value) !== source ? rawJSON(source) : value;
}

export const historyArguments = ({ arguments: texts }: History, id: string): string[] =>
  texts.map((text) => fillArgument(text, () => id));

/** The changes of an asset, as the JSON text of a list. @throws UnreadableAnswerError */
export function changesIn(answer: Buffer): string {
  const text = answer.toString('utf8').trim();
  if (text === '' || text === 'null') return '[]';
  if (text.startsWith('[') && isJson(text)) return text;
  throw new UnreadableAnswerError('The contract returned no list of changes.');
}
