import type { JsonValue } from '@sealgate/json';
import { isObject, textOf, type JsonObject } from './json-object.ts';

/** The admin API answered with a problem document (RFC 9457). The message is its detail. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  /** `in pointer: detail` of each place that is wrong. */
  readonly faults: readonly string[];
  readonly requestId: string;
  readonly retryAfterSeconds: string | undefined;
  /** The problem document as it came. */
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
