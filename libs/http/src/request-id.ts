const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The caller's X-Request-Id where it can be echoed, else one of ours. Sent twice, it holds a comma and a space. */
export function requestIdOf(header: string | undefined, newRequestId: () => string): string {
  return header !== undefined && REQUEST_ID.test(header) ? header : newRequestId();
}
