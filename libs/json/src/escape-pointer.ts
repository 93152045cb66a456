/** Escapes one token of a JSON pointer (RFC 6901 section 3). */
export const escapePointer = (token: string): string => token.replaceAll('~', '~0').replaceAll('/', '~1');
