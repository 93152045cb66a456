/** What one check came to: as the table says, or in which way not. */
export interface Verdict {
  readonly name: string;
  /** Undefined where it is as expected. */
  readonly difference: string | undefined;
  /** What the table says of it, for who reads along. */
  readonly shows: string;
}

/** One line for each check, the differences below their line, and a last line that counts. Gives the exit code. */
export function report(verdicts: readonly Verdict[], out: (text: string) => void): number {
  const width = Math.max(0, ...verdicts.map(({ name }) => name.length));
  for (const { name, difference, shows } of verdicts) {
    out(`${difference === undefined ? 'ok     ' : 'DIFFERS'} ${name.padEnd(width)}  ${shows}\n`);
    if (difference !== undefined) out(`        ${difference}\n`);
  }
  const wrong = verdicts.filter(({ difference }) => difference !== undefined).length;
  out(`\n${verdicts.length - wrong} as expected, ${wrong} not.\n`);
  return wrong === 0 && verdicts.length > 0 ? 0 : 1;
}
