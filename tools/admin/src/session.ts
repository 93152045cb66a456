import type { AdminApi, JsonAnswer } from './admin-api.ts';
import type { JsonObject } from './json-object.ts';
import { UsageError } from './usage-error.ts';

/** What the command line needs of the process that runs it. */
export interface CliContext {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths are seen from here, and `.sealgate/dev.json` is looked for from here upwards. */
  readonly directory: string;
  /** The user's id; undefined where the system has none. */
  readonly uid: number | undefined;
  /** Asks on the terminal; undefined where there is none. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly pause: (ms: number) => Promise<void>;
}

/** What one command works with. */
export interface Session {
  readonly api: AdminApi;
  /** Whether the answers of the API are wanted as they are. */
  readonly json: boolean;
  /** Standard output: the result and nothing else, so that it can be sent into a file. */
  print(text: string): void;
  /** Standard error: what a person should know besides. */
  note(text: string): void;
  /** Prints the answer as it came, or in the words given for people. */
  show(answer: JsonAnswer, words: (row: JsonObject) => string): void;
  /** Prints a sentence for people; scripts go by the exit code. */
  say(sentence: string): void;
  /** Has what cannot be undone confirmed by a word, "yes" unless given. Throws UsageError when it is not, or cannot be asked. */
  confirm(question: string, word?: string): Promise<void>;
  /** Waits before something is asked again. */
  pause(ms: number): Promise<void>;
}

export interface SessionOptions {
  readonly api: AdminApi;
  readonly json: boolean;
  /** Whether everything is confirmed beforehand. */
  readonly yes: boolean;
}

export function openSession({ out, err, ask, pause }: CliContext, { api, json, yes }: SessionOptions): Session {
  return {
    api,
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
        throw new UsageError('This cannot be undone, and there is no terminal to ask on: give --yes.');
      const answer = await ask(`${question} Type "${word}" to go on: `);
      if (answer.trim().toLowerCase() !== word) throw new UsageError('Not confirmed, so nothing was done.');
    },
  };
}

/** A file that holds the answer ends as files of text do. */
export function withLineFeed(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
