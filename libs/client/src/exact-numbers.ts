import { inexactNumbers, pointerIn } from '@sealgate/json';

/**
 * What to do with integers beyond 2^53 in an answer, which a JavaScript number would round. `refuse` (the default): the
 * call throws InexactNumberError. `bigint`: they become BigInt, whatever the type of the member says.
 */
export type LargeIntegers = 'refuse' | 'bigint';

/** An answer contains a number that a JavaScript number would change. The request itself was carried out. */
export class InexactNumberError extends Error {
  override readonly name = 'InexactNumberError';
  /** JSON pointer (RFC 6901) of the number. */
  readonly pointer: string;
  /** The number as it was sent. */
  readonly number: string;
  /** The answer; its body is still readable. */
  readonly response: Response;

  constructor(number: string, pointer: string, response: Response) {
    super(
      `The number ${number} at ${pointer === '' ? 'the top' : pointer} of the answer is no exact JavaScript number.`,
    );
    this.number = number;
    this.pointer = pointer;
    this.response = response;
  }
}

const INTEGER = /^-?\d+$/;

/**
 * The same response if `JSON.parse` reads its body exactly; else, with `bigint`, one whose `json` has BigInt for large
 * integers.
 * @throws InexactNumberError
 */
export async function withExactNumbers(response: Response, largeIntegers: LargeIntegers): Promise<Response> {
  const text = await response.clone().text();
  const inexact = inexactNumbers(text);
  if (inexact.length === 0) return response;
  const refused = largeIntegers === 'bigint' ? inexact.find(({ token }) => !INTEGER.test(token)) : inexact[0];
  if (refused !== undefined) throw new InexactNumberError(refused.token, pointerIn(text, refused.start), response);
  const headers = new Headers(response.headers);
  // With a length the client reads the body with `json`.
  headers.set('content-length', String(text.length));
  headers.delete('content-encoding');
  const { status, statusText } = response;
  const exact = new Response(text, { status, statusText, headers });
  const starts = new Map(inexact.map(({ token, start }) => [start, token]));
  return Object.defineProperties(exact, {
    url: { value: response.url },
    json: { value: () => Promise.resolve(parsed(text, starts)) },
  });
}

function parsed(text: string, integers: ReadonlyMap<number, string>): unknown {
  // Random, so that no text of the answer can be taken for one of these integers.
  const mark = crypto.randomUUID();
  const parts: string[] = [];
  let done = 0;
  for (const [start, token] of integers) {
    parts.push(text.slice(done, start), `"${mark}${token}"`);
    done = start + token.length;
  }
  parts.push(text.slice(done));
  return JSON.parse(parts.join(''), (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}
