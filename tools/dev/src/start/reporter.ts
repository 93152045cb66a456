/** The name of the variable that tells a detached start that somebody waits at the other end of its channel. */
export const detachedMark = 'SEALGATE_START_DETACHED';

export type Report = { readonly kind: 'line' | 'failure' | 'ready'; readonly text: string };

export interface Reporter {
  readonly isDetached: boolean;
  tell(line: string): void;
  fail(sentence: string): void;
  ready(screen: string): void;
}

/** Tells the person at the terminal; in a detached start also whoever started it, until everything is ready. */
export function reporter(): Reporter {
  const isDetached = process.env[detachedMark] === '1' && process.send !== undefined;
  const write = (report: Report): void => {
    const stream = report.kind === 'failure' ? process.stderr : process.stdout;
    // What a detached start writes is a log, and the screen holds keys: those are for who waits at the other end.
    stream.write(isDetached && report.kind === 'ready' ? 'Ready.\n' : `${report.text}\n`);
    if (isDetached && process.connected) process.send?.(report, undefined, {}, () => undefined);
  };
  return {
    isDetached,
    tell: (text) => write({ kind: 'line', text }),
    fail: (text) => write({ kind: 'failure', text }),
    ready: (text) => {
      write({ kind: 'ready', text });
      if (isDetached && process.connected) setImmediate(() => process.disconnect?.());
    },
  };
}

/** What came over the channel, when it is one of ours. */
export function reportOf(message: unknown): Report | undefined {
  if (typeof message !== 'object' || message === null || !('kind' in message) || !('text' in message)) return undefined;
  const { kind, text } = message;
  if (typeof text !== 'string' || (kind !== 'line' && kind !== 'failure' && kind !== 'ready')) return undefined;
  return { kind, text };
}
