/** No answer that can be used: nobody there, too slow, or something other than an admin API. The message says which. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}
