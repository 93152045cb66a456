import { AppError, type ErrorCode, type Fault } from '@sealgate/errors';
import { closedObject, named, orNull } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import type { AnswerSync, SyncAnswer, SyncRequest } from './answer-sync.ts';
import { AnyJson, type Asset } from './asset.ts';
import type { AssetResult, FailureCode } from './asset-result.ts';
import { actionOf, type Mappings } from './mapping.ts';

/** The body of an action. */
export const ActionBody = closedObject({
  data: Type.Optional(AnyJson({ type: 'object', additionalProperties: true, default: {} })),
});

export const ActionResult = named(
  'ActionResult',
  Type.Object({
    id: Type.String(),
    action: Type.String(),
    transactionId: Type.String(),
    channel: Type.String(),
    chaincode: Type.String(),
    blockNumber: orNull(Type.Integer(), { description: 'null if unknown.' }),
    result: AnyJson({ description: 'What the contract returned; null if that is nothing.' }),
    truncated: Type.Optional(
      Type.Literal(true, { description: 'It was longer than 64 KiB: `result` is its beginning, as a string.' }),
    ),
  }),
);

/** An action with valid syntax. */
interface ActionRequest extends Omit<SyncRequest, 'body' | 'rawBody' | 'answerOf'> {
  readonly id: string;
  readonly action: string;
  /** Undefined: that of the only mapping with the action. */
  readonly type: string | undefined;
  readonly data: Asset['data'];
}

/**
 * Runs an action of a mapping on an asset: a write like any other, with the same claims, jobs and journal.
 *
 * @throws AppError as `answerSync`, and NOT_FOUND, UNKNOWN_CHAINCODE, INVALID_REQUEST, IDEMPOTENCY_KEY_REQUIRED,
 * CONTRACT_REFUSED: nothing was written.
 */
export function answerAction(ports: {
  readonly answerSync: AnswerSync;
  readonly mappings: Mappings;
}): (request: ActionRequest) => Promise<SyncAnswer> {
  return async ({ id, action, type: given, data, ...request }) => {
    const type = typeOf(ports.mappings, action, given);
    if (ports.mappings.find(type)?.write !== 'create' && request.idempotencyKeys.length === 0) {
      const detail = 'Actions of a mapping that takes an id again need an Idempotency-Key.';
      throw new AppError('IDEMPOTENCY_KEY_REQUIRED', detail);
    }
    const body = { assets: [{ id, type, data, action }] };
    const answerOf = ([result]: readonly AssetResult[]) => renderAction({ id, action }, result!);
    const path = `${request.path}?type=${encodeURIComponent(type)}`;
    return ports.answerSync({ ...request, path, body, rawBody: Buffer.from(JSON.stringify(body)), answerOf });
  };
}

/** @throws AppError NOT_FOUND, UNKNOWN_CHAINCODE, INVALID_REQUEST */
function typeOf(mappings: Mappings, action: string, given: string | undefined): string {
  if (given !== undefined) {
    const target = mappings.find(given);
    if (target === undefined) throw new AppError('UNKNOWN_CHAINCODE', 'No chaincode is mapped for this type.');
    if (actionOf(target, action) === undefined) throw new AppError('NOT_FOUND', NO_ACTION);
    return given;
  }
  const types = mappings.typesWith(action);
  if (types.length === 0) throw new AppError('NOT_FOUND', NO_ACTION);
  const [type] = types;
  if (types.length === 1 && type?.endsWith('*') === false) return type;
  const detail = 'Several types have this action: name one.';
  throw new AppError('INVALID_REQUEST', detail, { faults: [{ in: 'query', pointer: '/type', detail }] });
}

const NO_ACTION = 'There is no such action.';

/** An AppError is returned if nothing was written. Not for a pending result. */
function renderAction({ id, action }: { id: string; action: string }, result: AssetResult): string | AppError {
  if (result.state === 'failed') return refusalOf(result);
  if (result.state === 'pending') throw new Error('A pending action is answered with its job.');
  const { returned } = result;
  const { transactionId, channel, chaincode, blockNumber } = result.transaction;
  const shown = JSON.stringify({ id, action, transactionId, channel, chaincode, blockNumber }).slice(0, -1);
  return `${shown},"result":${returned?.json ?? 'null'}${returned?.truncated === true ? ',"truncated":true' : ''}}`;
}

/** The item codes of an action as codes of a problem. */
const CODES: Partial<Record<FailureCode, ErrorCode>> = {
  CONTRACT_REFUSED: 'CONTRACT_REFUSED',
  INVALID_REQUEST: 'INVALID_REQUEST',
  LEDGER_UNAVAILABLE: 'LEDGER_UNAVAILABLE',
};

function refusalOf({ code, message, contractMessage }: Extract<AssetResult, { state: 'failed' }>): AppError {
  const faults: Fault[] = code === 'INVALID_REQUEST' ? [{ in: 'body', pointer: '/data', detail: message }] : [];
  const members = contractMessage === undefined ? {} : { contractMessage };
  return new AppError(CODES[code] ?? 'LEDGER_UNAVAILABLE', message, { faults, members });
}
