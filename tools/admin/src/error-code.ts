/** The code that Node gives a failure, such as ENOENT, or undefined. By shape, since not every error is of this realm. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
