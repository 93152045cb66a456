/** A service that cannot start for a reason its operator can mend. The message is one sentence that says how. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Awaits what a service opens while it starts.
 * @param Mendable the errors of `open` whose messages are such sentences.
 * @throws StartError in their place; all else that `open` throws, as it is.
 */
export async function openedOrStartError<Opened>(
  Mendable: abstract new (...parameters: never[]) => Error,
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof Mendable) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
