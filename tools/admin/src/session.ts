import type { AdminApi, JsonAnswer } from './admin-api.ts';
import type { JsonObject } from './json-object.ts';
import { UsageError } from './errors.ts';
import type { Surroundings } from './find-connection.ts';

/** The command line's view of the process that runs it. */
export interface CliContext extends Surroundings {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Asks on the terminal; undefined without one. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly pause: (ms: number) => Promise<void>;
}

/** The context of a command. */
export interface Session {
  readonly api: AdminApi;
  readonly env: CliContext['env'];
  /** Whether to print responses unchanged. */
  readonly json: boolean;
  /** Standard output: only the result, so that it can be redirected to a file. */
  print(text: string): void;
  /** Standard error: further information. */
  note(text: string): void;
  /** Prints the response unchanged, or the given text for people. */
  show(answer: JsonAnswer, words: (row: JsonObject) => string): void;
  /** Prints a sentence for people; scripts use the exit code. */
  say(sentence: string): void;
  /**
   * Asks for confirmation of an irreversible action by a word, "yes" by default. @throws UsageError if it is not
   * confirmed, or there is no terminal.
   */
  confirm(question: string, word?: string): Promise<void>;
  /** Waits before polling again. */
  pause(ms: number): Promise<void>;
}

export function openSession(
  { out, err, env, ask, pause }: CliContext,
  {
    api,
    json,
    yes,
  }: {
    readonly api: AdminApi;
    readonly json: boolean;
    /** Whether everything is confirmed by `--yes`. */
    readonly yes: boolean;
  },
): Session {
  return {
    api,
    env,
    json,
    print: out,
    note: err,
    pause,
    show: (answer, words) => out(json ? withLineFeed(answer.text) : words(answer.value)),
    say: (sentence) => {
      if (!json) out(`${sentence}\n`);
    },
    confirm: async (question, word = 'yes') => {
      if (yes) return;
      if (ask === undefined)
        throw new UsageError('This cannot be undone, and there is no terminal for confirmation: use --yes.');
      const answer = await ask(`${question} Type "${word}" to continue: `);
      if (answer.trim().toLowerCase() !== word) throw new UsageError('Not confirmed, so nothing was done.');
    },
  };
}

/** Files end with a line feed. */
export function withLineFeed(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
