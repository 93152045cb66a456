/**
 * What was given cannot be judged: a file that is not there, is not what the command takes, or an option that makes no
 * sense. Unlike a failed check it says nothing about the log, so it has an exit code of its own.
 */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}
