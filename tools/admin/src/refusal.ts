import type { JsonValue } from '@sealgate/json';
import type { Connection } from './find-connection.ts';
import { isObject, type JsonObject, textOf } from './json-object.ts';
import { printableLines } from './row-table.ts';

/** A problem document of the admin API (RFC 9457). The message is its detail. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  /** `in pointer: detail` of each fault. */
  readonly faults: readonly string[];
  readonly requestId: string;
  readonly retryAfterSeconds: string | undefined;
  /** The problem document as received. */
  readonly body: string;

  constructor(problem: JsonObject, answer: { status: number; headers: Headers; body: string }) {
    super(textOf(problem['detail']));
    this.status = answer.status;
    this.code = textOf(problem['code']);
    this.faults = faultsOf(problem['errors']);
    this.requestId = answer.headers.get('x-request-id') ?? textOf(problem['instance']).replace(/^urn:request:/, '');
    this.retryAfterSeconds = answer.headers.get('retry-after') ?? undefined;
    this.body = answer.body;
  }
}

function faultsOf(errors: JsonValue | undefined): string[] {
  if (!Array.isArray(errors)) return [];
  return errors.filter(isObject).map((fault) => {
    const pointer = textOf(fault['pointer']);
    return `${textOf(fault['in'])} ${pointer === '' ? '(the whole)' : pointer}: ${textOf(fault['detail'])}`;
  });
}

/** A rejection for people: what, where, and the request id for searching logs. */
export function refusalText(refusal: Refusal, { urlSource, tokenSource }: Connection): string {
  const { status, code, message, faults, requestId, retryAfterSeconds } = refusal;
  const lines = [
    `sealgate: rejected with ${status} ${code}: ${message}`,
    ...faults.map((fault) => `  ${fault}`),
    ...(status === 401 ? [`  the token is from ${tokenSource}, the address from ${urlSource}`] : []),
    ...(retryAfterSeconds === undefined ? [] : [`  try again in ${retryAfterSeconds} s`]),
    `  request id: ${requestId}`,
  ];
  return `${printableLines(lines.join('\n'))}\n`;
}
