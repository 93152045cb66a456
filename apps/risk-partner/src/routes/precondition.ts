import { AppError } from '@sealgate/errors';

/**
 * Holds If-Match against the version of a row. Versions are compared strongly (RFC 9110, section 13.1.1), so a weak one
 * never matches.
 * @throws AppError PRECONDITION_REQUIRED without it, PRECONDITION_FAILED when the row is at another version.
 */
export function checkIfMatch(header: string | undefined, n: number): void {
  if (header === undefined)
    throw new AppError(
      'PRECONDITION_REQUIRED',
      'Send the ETag of the record that this change was made from as If-Match.',
    );
  checkIfMatchWhereSent(header, n);
}

/** The same where a change may do without it. @throws AppError PRECONDITION_FAILED. */
export function checkIfMatchWhereSent(header: string | undefined, n: number): void {
  if (header === undefined) return;
  const matches = header.split(',').some((one) => one.trim() === '*' || one.trim() === `"${n}"`);
  if (!matches) throw new AppError('PRECONDITION_FAILED', 'The record has been changed since; read it again.');
}
