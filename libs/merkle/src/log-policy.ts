import { parseCheckpoint, type Checkpoint } from './checkpoint.ts';
import { cosignatureVerifier, type CosignatureVerifier } from './cosignature.ts';
import { anyOf, noteVerifier, parseNote, type NoteVerifier, type ParsedNote } from './note.ts';

/** Bounds the work for an untrusted policy; C2SP requires at least 32 lines of each kind. */
const MAX_POLICY_CHARACTERS = 100_000;
const MAX_LINES_OF_A_KIND = 100;

interface PolicyLog {
  /** The key name is the origin of its checkpoints. */
  readonly verifier: NoteVerifier;
  readonly url?: string;
}

export interface PolicyWitness {
  /** The name within the policy; has no meaning elsewhere. */
  readonly name: string;
  readonly verifier: CosignatureVerifier;
  readonly url?: string;
}

/** The rules for accepting a checkpoint: C2SP tlog-policy. */
export interface LogPolicy {
  /** As it was given, so that others can check by the same rules. */
  readonly text: string;
  readonly logs: readonly PolicyLog[];
  readonly witnesses: readonly PolicyWitness[];
  /** True when cosignatures by these witnesses (names in the policy) form a quorum. */
  isQuorum(witnesses: ReadonlySet<string>): boolean;
}

/** An accepted checkpoint, or the reason for rejecting it. */
type PolicyVerdict =
  | {
      readonly checkpoint: Checkpoint;
      /** The witnesses that signed, with the time in seconds since the epoch. */
      readonly cosignedAt: ReadonlyMap<PolicyWitness, number>;
      readonly problem?: undefined;
    }
  | { readonly problem: string };

/**
 * Checks a signed checkpoint against a policy: signed by a log of its origin (from `logs` if given, else from the
 * policy), cosigned by a quorum of witnesses, and without an invalid signature by any key in the policy. Never throws.
 * Cosignature times are returned, not checked.
 */
export function checkPolicy(policy: LogPolicy, note: string, logs?: NoteVerifier): PolicyVerdict {
  let parsed: ParsedNote;
  let checkpoint: Checkpoint;
  try {
    parsed = parseNote(note);
    checkpoint = parseCheckpoint(parsed.text);
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  const { origin } = checkpoint;
  const known = logs ?? anyOf(policy.logs.map(({ verifier }) => verifier).filter(({ name }) => name === origin));
  if (known === undefined) return { problem: `The policy names no log with the origin ${origin}.` };
  // Requests every signature before deciding, so a browser has all results in its next run.
  const isSigned = known.verify(note) !== undefined;
  const signedAt = policy.witnesses.flatMap((witness) =>
    parsed.signatures
      .filter(witness.verifier.claims)
      .map((signature) => ({ witness, seconds: witness.verifier.signedAt(parsed.text, signature) })),
  );
  if (!isSigned) return { problem: `The checkpoint of ${origin} is not signed by a key that is trusted for it.` };
  const cosignedAt = new Map<PolicyWitness, number>();
  for (const { witness, seconds } of signedAt) {
    if (seconds === undefined) {
      return {
        problem: `The cosignature that claims to be of the witness ${witness.name} is not over this checkpoint.`,
      };
    }
    cosignedAt.set(witness, Math.max(seconds, cosignedAt.get(witness) ?? 0));
  }
  const names = [...cosignedAt.keys()].map(({ name }) => name);
  if (policy.isQuorum(new Set(names))) return { checkpoint, cosignedAt };
  return {
    problem: `The witnesses that cosigned are no quorum of the policy: ${names.length === 0 ? 'none' : names.join(', ')}.`,
  };
}

type IsReached = (witnesses: ReadonlySet<string>) => boolean;

/** Parses a policy file (C2SP tlog-policy). Throws an Error that names the line and the fault. */
export function parsePolicy(text: string): LogPolicy {
  if (text.length > MAX_POLICY_CHARACTERS) {
    throw new Error(`A policy is at most ${MAX_POLICY_CHARACTERS} characters long.`);
  }
  const reading = new PolicyReading();
  for (const [index, line] of text.split('\n').entries()) {
    try {
      reading.take(line);
    } catch (cause) {
      throw new Error(`Line ${index + 1} of the policy: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      });
    }
  }
  return { text, ...reading.policy() };
}

class PolicyReading {
  readonly #logs: PolicyLog[] = [];
  readonly #witnesses: PolicyWitness[] = [];
  readonly #components = new Map<string, IsReached>();
  readonly #members = new Set<string>();
  #groups = 0;
  #quorum: IsReached | undefined;

  take(line: string): void {
    // eslint-disable-next-line no-control-regex -- control characters are what is being refused
    if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(line))
      throw new Error('A policy holds no control character but tab.');
    // Decoding replaces invalid UTF-8, which could make two names equal.
    if (line.includes('\ufffd') || !line.isWellFormed()) throw new Error('A policy is UTF-8.');
    const [keyword, ...items] = line.split(/[ \t]+/).filter((item) => item !== '');
    if (keyword === undefined || keyword.startsWith('#')) return;
    if (keyword === 'log') this.#takeLog(items);
    else if (keyword === 'witness') this.#takeWitness(items);
    else if (keyword === 'group') this.#takeGroup(items);
    else if (keyword === 'quorum') this.#takeQuorum(items);
    else throw new Error('A line begins with log, witness, group or quorum.');
  }

  policy(): Omit<LogPolicy, 'text'> {
    const quorum = this.#quorum;
    if (quorum === undefined) throw new Error('A policy has a quorum line.');
    return { logs: this.#logs, witnesses: this.#witnesses, isQuorum: quorum };
  }

  #takeLog([key, url, ...rest]: readonly string[]): void {
    if (key === undefined || rest.length > 0) throw new Error('A log reads: log <vkey> [<url>].');
    const verifier = noteVerifier(key);
    addOnce(this.#logs, { verifier, ...urlOf(url) }, ({ verifier: { point } }) => point);
  }

  #takeWitness([name, key, url, ...rest]: readonly string[]): void {
    if (name === undefined || key === undefined || rest.length > 0) {
      throw new Error('A witness reads: witness <name> <vkey> [<url>].');
    }
    this.#define(name, (witnesses) => witnesses.has(name));
    const verifier = cosignatureVerifier(key);
    addOnce(this.#witnesses, { name, verifier, ...urlOf(url) }, ({ verifier: { point } }) => point);
  }

  #takeGroup([name, threshold, ...members]: readonly string[]): void {
    if (name === undefined || threshold === undefined || members.length === 0) {
      throw new Error('A group reads: group <name> all|any|<k> <name>...');
    }
    const needed = neededOf(threshold, members.length);
    const reached = members.map((member) => this.#found(member));
    for (const member of members) {
      if (this.#members.has(member)) throw new Error(`${member} is a member already.`);
      this.#members.add(member);
    }
    if ((this.#groups += 1) > MAX_LINES_OF_A_KIND) throw tooMany();
    this.#define(name, (witnesses) => reached.filter((isReached) => isReached(witnesses)).length >= needed);
  }

  #takeQuorum([name, ...rest]: readonly string[]): void {
    if (name === undefined || rest.length > 0) throw new Error('A quorum reads: quorum <name>.');
    if (this.#quorum !== undefined) throw new Error('A policy has one quorum line.');
    this.#quorum = name === NONE ? () => true : this.#found(name);
  }

  #define(name: string, isReached: IsReached): void {
    if (name === NONE || this.#components.has(name)) throw new Error(`The name ${name} is taken.`);
    this.#components.set(name, isReached);
  }

  #found(name: string): IsReached {
    const component = this.#components.get(name);
    if (component === undefined) throw new Error(`${name} is not defined on a line before.`);
    return component;
  }
}

const NONE = 'none';

const urlOf = (url: string | undefined) => (url === undefined ? {} : { url });

const tooMany = () => new Error(`A policy has at most ${MAX_LINES_OF_A_KIND} lines of a kind.`);

/** Items are equal when their public keys are, whatever their names. */
function addOnce<Item>(items: Item[], item: Item, pointOf: (item: Item) => Uint8Array): void {
  const point = String(pointOf(item));
  if (items.some((other) => String(pointOf(other)) === point)) throw new Error('Its public key is there already.');
  if (items.length >= MAX_LINES_OF_A_KIND) throw tooMany();
  items.push(item);
}

function neededOf(threshold: string, members: number): number {
  if (threshold === 'any') return 1;
  if (threshold === 'all') return members;
  const needed = Number(threshold);
  if (!/^[1-9][0-9]{0,3}$/.test(threshold) || needed > members) {
    throw new Error(`A threshold is all, any, or a number from 1 to ${members}.`);
  }
  return needed;
}
