import { contentAt, fieldOf, MalformedMessageError } from './protobuf.ts';

/** A transaction as a peer gave it back: endorsed, and not yet signed by us. */
export interface EndorsedTransaction {
  readonly transactionId: string;
  /** `common.Payload`, which is what we sign. */
  readonly payload: Buffer;
  /** What the transaction function returned. */
  readonly result: Buffer;
}

/** `gateway.EndorseResponse` {1: envelope {1: payload}}. */
const PAYLOAD_OF_ANSWER = [1, 1] as const;
/** `gateway.SubmitRequest` {3: envelope {1: payload}}. */
const PAYLOAD_OF_REQUEST = [3, 1] as const;
/** `common.Payload` {1: header {1: channel header {5: transaction id}}}. */
const ID_OF_PAYLOAD = [1, 1, 5] as const;
/**
 * `common.Payload` {2: transaction {1: action {2: payload {2: endorsed action {1: response payload {2: chaincode action
 * {3: response}}}}}}}.
 */
const RESPONSE_OF_PAYLOAD = [2, 1, 2, 2, 1, 2, 3] as const;
/** `protos.Response` {3: payload}. */
const RESULT = 3;
/** `gateway.EvaluateResponse` {1: response}. */
const RESPONSE_OF_EVALUATION = 1;
const NOTHING = Buffer.alloc(0);

/**
 * Reads what Endorse answered. Nothing is signed that is not the transaction that was proposed.
 *
 * @throws MalformedMessageError.
 */
export function endorsedTransaction(answer: Buffer, transactionId: string): EndorsedTransaction {
  const payload = contentAt(answer, PAYLOAD_OF_ANSWER);
  if (contentAt(payload, ID_OF_PAYLOAD).toString('latin1') !== transactionId)
    throw new MalformedMessageError('The peer endorsed another transaction than the one that was proposed.');
  return { transactionId, payload, result: resultOfPayload(payload) };
}

/** What the transaction of a journalled request returned when it was endorsed. @throws MalformedMessageError. */
export function resultOfRequest(request: Buffer): Buffer {
  return resultOfPayload(contentAt(request, PAYLOAD_OF_REQUEST));
}

/** What Evaluate answered. @throws MalformedMessageError. */
export function evaluatedResult(answer: Buffer): Buffer {
  const response = fieldOf(answer, RESPONSE_OF_EVALUATION);
  return response === undefined ? NOTHING : (fieldOf(response, RESULT) ?? NOTHING);
}

function resultOfPayload(payload: Buffer): Buffer {
  return fieldOf(contentAt(payload, RESPONSE_OF_PAYLOAD), RESULT) ?? NOTHING;
}
