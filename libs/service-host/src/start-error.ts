/** A service that cannot start for a reason its operator can mend. The message is one sentence that says how. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
