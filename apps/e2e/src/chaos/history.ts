import { closeSync, openSync, writeSync } from 'node:fs';

/** The surfaces under fire. */
export type Surface = 'risk-partner' | 'case-gate' | 'ledger-peer' | 'ingest-gateway' | 'console';

/** One request of a client, and what it was told. Times are milliseconds of the Unix epoch, with fractions. */
export interface Asked {
  readonly is: 'asked';
  readonly surface: Surface;
  /** Which replica was asked, from 0. */
  readonly replica: number;
  /**
   * What the client meant by it, whoever was asked: `write`, `deliver` (D); `sync`, `job` (C); `open-case`, `decide`,
   * `seal`, `check`, `revoke` (B); `create`, `approve` (A); `sign-in`, `signed-in`, `session`, `add-network`, `sign-out`,
   * `copied` (the console); `read`; `foreign`, which nobody may be given.
   */
  readonly act: string;
  /** The `Idempotency-Key`, or the delivery's id; absent where the act has none. */
  readonly key?: string;
  /**
   * The caller: a network, a key family, an environment, `<orgId>/<personId>`. Nobody may see rows of another, and keys
   * of one are not those of another.
   */
  readonly as: string;
  readonly target: string;
  readonly sent?: Sent;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Absent: the connection was refused, cut, or silent until the client gave up. */
  readonly status?: number;
  /** The whole body. */
  readonly text?: string;
  readonly replayed?: boolean;
}

/** What the judge must know of a request. */
export interface Sent {
  /**
   * The whole text of a `write`, `deliver` or `sync`. May be left out where the first text of a `write` or `deliver` is sent
   * again under its key.
   */
  readonly body?: string;
  /** The `subj_…` of every act on cases and at the gate. */
  readonly subject?: string;
  /** Of a `seal`. */
  readonly caseId?: string;
  /** Of a `decide`. */
  readonly decision?: 'approve' | 'decline';
  /** Of an `approve`. */
  readonly evidenceId?: string;
  /** Of what is sent with a cookie of the console: the sign-in that it is of, a name of our own. */
  readonly session?: string;
  /** Of an `add-network`. */
  readonly networkId?: string;
}

/** A fault from its beginning until it was healed. */
export interface Fault {
  readonly is: 'fault';
  /** The name in the table, such as `process-killed`. */
  readonly name: string;
  /** What it hit: `ingest-gateway/1`, `postgres`, `redis`. */
  readonly hit: string;
  readonly startedMs: number;
  readonly healedMs: number;
  /** Counts by what was done: `{ kills: 1 }`, `{ promotions: 1 }`. */
  readonly did: Readonly<Record<string, number>>;
}

/** A signed checkpoint that somebody saw, byte for byte. */
export interface Seen {
  readonly is: 'checkpoint';
  readonly channel: string;
  /** Which replica showed it. With `startedMs`, its views are compared in their order. */
  readonly from?: string;
  readonly startedMs?: number;
  readonly atMs: number;
  readonly text: string;
}

/** A webhook that was pushed to a subscriber of ours, byte for byte. */
export interface Pushed {
  readonly is: 'pushed';
  readonly subscription: string;
  readonly atMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** What the subscriber answered. */
  readonly status: number;
}

/** What a process held at a quiet moment. */
export interface Held {
  readonly is: 'held';
  readonly process: string;
  /** Changes with each start, so that only moments of one life are compared. */
  readonly pid: number;
  readonly atMs: number;
  readonly residentKib: number;
  readonly descriptors: number;
  readonly postgresConnections: number;
  readonly redisKeys: number;
}

/** What an outsider knows beforehand; the first line. */
export interface Known {
  readonly is: 'known';
  /** Verifier keys (C2SP signed-note) of which one signs each checkpoint. */
  readonly verifierKeys: readonly string[];
  /** The identity provider that operators sign in with. */
  readonly issuer?: string;
  readonly subscriptions: readonly {
    readonly subscription: string;
    readonly channel: string;
    /** `whsec_` and base64. */
    readonly secret: string;
    /** The first index of which it should hear. */
    readonly from: number;
  }[];
}

/** A line of the history. The judge gets these lines, and the databases, and nothing else. */
export type Line = Known | Asked | Fault | Seen | Pushed | Held;

/** An append-only file, one JSON line for each thing that happened. */
export interface History {
  readonly file: string;
  add(line: Line): void;
  close(): void;
}

/** Opens `file` for appending. */
export function openHistory(file: string): History {
  const descriptor = openSync(file, 'a');
  return {
    file,
    add: (line) => void writeSync(descriptor, `${JSON.stringify(line)}\n`),
    close: () => closeSync(descriptor),
  };
}
