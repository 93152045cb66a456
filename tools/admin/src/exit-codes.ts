/** What the command ends with, so that a script can tell why. */
export const EXIT_CODES = {
  done: 0,
  refused: 1,
  usage: 2,
  auditFailed: 3,
  unreachable: 4,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** In words, for `--help` and the README. */
export const EXIT_CODE_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'done',
  1: 'refused by the admin API (code, detail and request id are on standard error), or a secret that is needed is missing or to go',
  2: 'wrong use, or not confirmed: nothing was sent',
  3: 'an audit found something',
  4: 'unreachable, too slow, or not an admin API',
};
