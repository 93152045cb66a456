import { AppError, type Fault } from '@sealgate/errors';
import { canonical, defined, escapePointer } from '@sealgate/json';
import { LedgerArchivedError, LedgerUnavailableError } from '@sealgate/ledger-port';
import type { CursorCodec } from '@sealgate/paging';
import { placeholdersIn } from './argument-template.ts';
import { DEFAULT_LIMIT, type AssetPage, type AssetQuery } from './asset.ts';
import { ContractRefusal, UnreadableAnswerError, type AssetLedger } from './asset-ledger.ts';
import type { Mappings, Target } from './mapping.ts';
import type { ProvedRecord, PublicLog } from './public-log.ts';

export interface ReadAssetsPorts {
  readonly ledger: AssetLedger;
  readonly mappings: Mappings;
  readonly log: PublicLog | undefined;
  /** Cursors of query pages. */
  readonly cursors: CursorCodec;
}

/**
 * The asset as returned by its read query, as JSON text. Without a type all targets are queried, in the order of the
 * file.
 * @throws AppError NOT_FOUND, UNKNOWN_CHAINCODE, CONTRACT_REFUSED, LEDGER_UNAVAILABLE: never one in place of another.
 */
export async function readAsset(ports: ReadAssetsPorts, id: string, type: string | undefined): Promise<string> {
  return (await find(ports, id, type)).text;
}

/**
 * The asset with its receipt and its inclusion proof, as JSON text.
 * @throws AppError as `readAsset`, and INVALID_REQUEST for an asset that this ledger does not prove, or not so.
 */
export async function proveAsset(
  ports: ReadAssetsPorts,
  id: string,
  { type, proof }: { readonly type?: string | undefined; readonly proof: 'true' | 'block' },
): Promise<string> {
  const { log, ledger } = ports;
  if (ledger.prove !== undefined) return proveByPeers(ports, id, { type, withBlock: proof === 'block' });
  if (log === undefined) throw notProved('The ledger of this peer has no public log.');
  if (proof === 'block') throw notProved('The ledger of this peer has no blocks.');
  const { text, target } = await find(ports, id, type);
  const proved = await proveRecord({ ...ports, log }, target.channel, id);
  if (proved === undefined) throw new AppError('NOT_FOUND', NO_ASSET);
  return `{"asset":${text},"receipt":${JSON.stringify(proved.receipt)},"proof":${JSON.stringify(proved.proof)}}`;
}

/** The newest version of the asset, and what peers signed about it now. */
async function proveByPeers(
  ports: ReadAssetsPorts,
  id: string,
  { type, withBlock }: { readonly type: string | undefined; readonly withBlock: boolean },
): Promise<string> {
  const { ledger, mappings } = ports;
  const { target } = await find(ports, id, type);
  if (target.shape.kind !== 'records') throw notProved('Assets of a third-party contract have no proof.');
  const found = await asked(ledger.prove!(target, id, { withBlock }));
  // Its type may have changed meanwhile.
  if (found?.type === undefined || !mappings.serves(found.type, target)) throw new AppError('NOT_FOUND', NO_ASSET);
  const { text, receipt, proof } = found;
  return `{"asset":${text},"receipt":${JSON.stringify(receipt)},"proof":${JSON.stringify(proof)}}`;
}

/**
 * The receipt of a record and its proof; undefined if there is none, and for records that no mapping serves: their
 * salt, owner and extra are for their writers. @throws AppError LEDGER_UNAVAILABLE.
 */
export async function proveRecord(
  { log, mappings }: { readonly log: PublicLog; readonly mappings: Mappings },
  channel: string,
  id: string,
): Promise<ProvedRecord | undefined> {
  if (!mappings.targets.some((target) => target.channel === channel)) return undefined;
  return asked(log.prove(channel, id, (type) => mappings.serves(type, { channel })));
}

/** One page, and the cursor of the next. @throws AppError as `asked`, UNKNOWN_CHAINCODE, INVALID_CURSOR. */
export async function queryAssets(
  { ledger, mappings, cursors }: ReadAssetsPorts,
  { type, limit = DEFAULT_LIMIT, cursor, filter }: AssetQuery,
): Promise<AssetPage> {
  const target = targetOf(mappings, type);
  if (target.transactions.query === undefined)
    throw new AppError('UNKNOWN_CHAINCODE', 'For this type no query is mapped.');
  checkFilter(target, filter ?? {});
  const binding = ['assets v1', type, ...(filter === undefined ? [] : [canonical(filter)])];
  const after = cursor === undefined ? undefined : cursors.read(binding, cursor);
  const { assets, next } = await asked(ledger.query(target, { type, limit, after, ...defined({ filter }) }));
  return {
    assets: [...assets],
    count: assets.length,
    nextCursor: next === undefined ? null : cursors.make(binding, next),
  };
}

/** @throws AppError INVALID_REQUEST for a filter that the mapping does not have, or needs. */
function checkFilter({ shape }: Target, filter: Readonly<Record<string, string>>): void {
  const filters: readonly string[] = shape.kind === 'positional' ? shape.filters : [];
  const query = shape.kind === 'positional' ? shape.query : [];
  const needed = (query ?? [])
    .flatMap(placeholdersIn)
    .filter(({ name, fallback }) => name.startsWith('filter.') && fallback === undefined)
    .map(({ name }) => name.slice('filter.'.length));
  const unknown = Object.keys(filter).filter((name) => !filters.includes(name));
  const missing = needed.filter((name) => !Object.hasOwn(filter, name));
  const faultOf = (name: string, detail: string): Fault => ({
    in: 'body',
    pointer: `/filter/${escapePointer(name)}`,
    detail,
  });
  const faults = [
    ...unknown.map((name) => faultOf(name, 'The mapping of the type has no such filter.')),
    ...[...new Set(missing)].map((name) => faultOf(name, 'The mapping of the type needs this filter.')),
  ];
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', faults[0]!.detail, { faults });
}

/**
 * A temporary failure is 503, never "not found".
 * @throws AppError LEDGER_UNAVAILABLE, RECORD_ARCHIVED, UNREADABLE_ANSWER, CONTRACT_REFUSED.
 */
export async function asked<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof LedgerArchivedError) {
      throw new AppError('RECORD_ARCHIVED', 'The record is in an archive that this process cannot read.', {
        cause: error,
      });
    }
    if (error instanceof UnreadableAnswerError)
      throw new AppError('UNREADABLE_ANSWER', error.message, { cause: error });
    if (error instanceof ContractRefusal) {
      const members = { contractMessage: error.contractMessage };
      throw new AppError('CONTRACT_REFUSED', error.message, { members, cause: error });
    }
    if (!(error instanceof LedgerUnavailableError)) throw error;
    throw new AppError('LEDGER_UNAVAILABLE', 'The ledger cannot be reached.', { retryAfterSeconds: 1, cause: error });
  }
}

export const NO_ASSET = 'There is no such asset.';

async function find({ ledger, mappings }: ReadAssetsPorts, id: string, type: string | undefined) {
  const targets = type === undefined ? mappings.targets : [targetOf(mappings, type)];
  let refusal: AppError | undefined;
  for (const target of targets) {
    const read = asked(ledger.read(target, id).catch(undefinedUnlessServed(mappings, target)));
    const found = await read.catch((error: unknown) => {
      // Another mapping may have it. If none has, it is not known to be absent: its contract did not say so.
      if (!(error instanceof AppError && error.code === 'CONTRACT_REFUSED')) throw error;
      refusal ??= error;
      return undefined;
    });
    const isServed = found?.type === undefined || mappings.serves(found.type, target);
    if (found !== undefined && isServed) return { text: found.text, target };
  }
  throw refusal ?? new AppError('NOT_FOUND', NO_ASSET);
}

/** A record that no mapping serves is reported as missing, also if it cannot be read. */
const undefinedUnlessServed =
  (mappings: Mappings, target: Target) =>
  (error: unknown): undefined => {
    if (error instanceof LedgerArchivedError && !mappings.serves(error.recordType, target)) return undefined;
    throw error;
  };

/** @throws AppError UNKNOWN_CHAINCODE */
export function targetOf(mappings: Mappings, type: string): Target {
  const target = mappings.find(type);
  if (target === undefined) throw new AppError('UNKNOWN_CHAINCODE', 'No chaincode is mapped for this type.');
  return target;
}

function notProved(detail: string): AppError {
  return new AppError('INVALID_REQUEST', detail, { faults: [{ in: 'query', pointer: '/proof', detail }] });
}

/** Compares texts by code points, the order of ids in ledgers. */
export function byCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
