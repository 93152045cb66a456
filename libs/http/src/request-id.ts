const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The caller's X-Request-Id where it can be echoed, else one of ours. Sent twice, it holds a comma and a space. */
export function requestIdOf(header: string | undefined, newRequestId: () => string): string {
  return header !== undefined && REQUEST_ID.test(header) ? header : newRequestId();
}

/** Everything that Node lets a header hold; a byte beyond ASCII is one character. */
const ANY_REQUEST_ID = /^[\t\x20-\x7e\x80-\xff]{1,1024}$/;

/**
 * The caller's X-Request-Id as it came, for routes whose protocol says that it is echoed whatever it holds. It goes into
 * that one header and nowhere else. Undefined where there is none, more than one, or one of more than 1 KiB.
 */
export function exactRequestId(headerValues: readonly string[]): string | undefined {
  const [value] = headerValues;
  return value !== undefined && headerValues.length === 1 && ANY_REQUEST_ID.test(value) ? value : undefined;
}
