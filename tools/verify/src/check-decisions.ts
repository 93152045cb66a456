import { decisionHash } from '@sealgate/envelope';
import type { DecisionHead, DroppedDecisions } from '@sealgate/envelope';
import { readDecision, readHeads } from './decision-files.ts';
import type { HeadsInput, LoggedLine } from './decision-files.ts';
import { compareHeads } from './heads-in-log.ts';
import { readNdjson } from './ndjson.ts';
import { startReport } from './report.ts';
import type { Report, Reporter } from './report.ts';

export interface DecisionsInput extends HeadsInput {
  /** NDJSON of the log of decisions, by process and number. */
  readonly decisions: string;
  /** A copy of the log that the heads are in: with it, heads that were withheld are named. */
  readonly log?: string | undefined;
}

/** Faults of one kind that are told one by one; past it they are counted. */
const MOST_TOLD = 100;

/**
 * Checks a log of decisions against the heads that the ledger holds of it. Every decision that a head covers has to be there
 * once, in its place and as it was made; what is missing, doubled, out of order or changed is named. Decisions behind the
 * last head of a process are not sealed yet, which is told and is no fault. Throws UnreadableError for files of another form.
 */
export async function checkDecisions(input: DecisionsInput): Promise<Report> {
  const report = limited(startReport());
  const chains = new Map<string, ProcessChain>();
  const read = await readHeads(report, input);
  for (const [process, of] of read.chains) chains.set(process, new ProcessChain(report, process, of));
  if (input.log !== undefined) await compareHeads(report, { ...input, directory: input.log, heads: read.saved });
  const counts = { sealed: 0, unsealed: 0, left: 0 };
  for await (const line of readNdjson(input.decisions)) {
    const decision = readDecision(line);
    let chain = chains.get(decision.process);
    if (chain === undefined) {
      chain = new ProcessChain(report, decision.process, []);
      chains.set(decision.process, chain);
    }
    counts[chain.add(decision, line.where)] += 1;
  }
  for (const chain of chains.values()) chain.finish(input.decisions);
  tellOpen(report, [...chains.values()]);
  if (counts.left > 0) report.note(`${counts.left} decisions before the first head were not looked at.`);
  report.tellRest();
  const heads = [...chains.values()].reduce((sum, { headCount }) => sum + headCount, 0);
  if (heads > 0 && !report.hasFailed()) {
    report.ok(
      'decisions',
      `${counts.sealed} decisions are, each once and unchanged, what ${heads} heads in the ledger cover.`,
    );
  }
  return report.finish(
    `All ${counts.sealed} decisions that ${heads} heads of ${chains.size} processes cover are there, unchanged and in order` +
      (counts.unsealed === 0 ? '.' : `; ${counts.unsealed} more are not sealed yet.`),
  );
}

function tellOpen(report: Reporter, chains: readonly ProcessChain[]): void {
  const open = chains.filter(({ headCount }) => headCount > 0).flatMap((chain) => chain.open ?? []);
  for (const text of open.slice(0, MOST_TOLD)) report.note(text);
  if (open.length > MOST_TOLD) report.note(`So it is with ${open.length - MOST_TOLD} more processes.`);
  const headless = chains.filter(({ headCount }) => headCount === 0).length;
  if (headless > 0) report.note(`${headless} processes have no head: nothing proves what they decided.`);
}

/** What the rest of a log is judged by, from the first head that counts on. */
class ProcessChain {
  readonly #report: Reporter;
  readonly #process: string;
  readonly #heads: readonly DecisionHead[];
  readonly #dropped: readonly DroppedDecisions[];
  /** The first number that is looked at, and the next that is expected. */
  readonly #from: number;
  #next: number;
  /** The hash of the decision before the next; undefined where nothing says what it was. */
  #hash: string | null | undefined;
  #head = 0;
  #isBroken = false;
  readonly #missing: { first: number; last: number }[] = [];

  constructor(report: Reporter, process: string, heads: readonly DecisionHead[]) {
    this.#report = report;
    this.#process = process;
    this.#heads = heads;
    this.#dropped = heads.flatMap(({ dropped }) => dropped);
    this.#from = heads[0]?.first_seq ?? 1;
    this.#next = this.#from;
    this.#hash = heads[0]?.prev_hash ?? null;
  }

  get headCount(): number {
    return this.#heads.length;
  }

  get #lastSealed(): number {
    return this.#heads.at(-1)?.last_seq ?? 0;
  }

  add(decision: LoggedLine, where: string): 'sealed' | 'unsealed' | 'left' {
    const { seq } = decision;
    if (seq < this.#from) return 'left';
    if (seq < this.#next) {
      this.#again(decision, where);
      return seq <= this.#lastSealed ? 'sealed' : 'unsealed';
    }
    if (seq > this.#next) this.#skipTo(seq);
    this.#follow(decision, where);
    if (this.#heads.at(-1)?.ended === true && seq > this.#lastSealed) {
      const detail = `${decision.decision_id} stands behind the last head of its process, which says that nothing does.`;
      this.#report.failed('added', { detail, where });
    }
    return seq <= this.#lastSealed ? 'sealed' : 'unsealed';
  }

  /** Names what is missing. */
  finish(where: string): void {
    if (this.#next <= this.#lastSealed) this.#skipTo(this.#lastSealed + 1);
    for (const { first, last } of this.#missing) this.#tellMissing(first, last, where);
  }

  /** What nothing proves yet; undefined where the process has ended. */
  get open(): string | undefined {
    if (this.#heads.at(-1)?.ended === true) return undefined;
    const behind = this.#next - 1 - Math.max(this.#lastSealed, this.#from - 1);
    const unsealed =
      behind > 0 ? `${behind} decisions of it are behind its last head, and nothing proves them yet` : '';
    return `Process ${this.#process} has not said that it ended: it runs, or what it decided after number ${this.#next - 1} was lost with it.${unsealed === '' ? '' : ` ${unsealed}.`}`;
  }

  #follow(decision: LoggedLine, where: string): void {
    const { seq, hash, decision_id: id } = decision;
    const isSealed = seq <= this.#lastSealed;
    if (hash === null) {
      if (isSealed) this.#fail('changed', { detail: `${id} has lost its hash.`, where });
      this.#hash = undefined;
    } else {
      const expected = this.#hash === undefined ? hash : decisionHash(decision, this.#hash);
      if (expected !== hash)
        this.#fail('changed', { detail: `${id} is not what was decided.`, where, expected: hash, found: expected });
      // What stands there is believed until the next head, so that each decision is judged by itself.
      this.#hash = hash;
    }
    this.#next = seq + 1;
    this.#passHeads(where);
  }

  /** Compares the chain with the heads that end at the decision before the next. */
  #passHeads(where: string): void {
    for (let head = this.#heads[this.#head]; head !== undefined && head.last_seq < this.#next;) {
      const isHere = head.last_seq === this.#next - 1;
      if (isHere && this.#hash !== undefined && this.#hash !== head.hash && !this.#isBroken) {
        const detail = `Decisions ${head.first_seq} to ${head.last_seq} of process ${this.#process} do not lead to head ${head.number} in the ledger: they were changed and hashed anew.`;
        this.#report.failed('changed', { detail, where, expected: String(head.hash), found: String(this.#hash) });
      }
      if (isHere) this.#hash = head.hash;
      this.#isBroken = false;
      this.#head += 1;
      head = this.#heads[this.#head];
    }
  }

  /** What lies before `seq` is not there, unless it turns up later. */
  #skipTo(seq: number): void {
    this.#missing.push({ first: this.#next, last: seq - 1 });
    this.#next = seq;
    this.#isBroken = true;
    this.#hash = this.#dropped.find(({ last_seq: last }) => last === seq - 1)?.hash;
    this.#passHeads('');
  }

  /** A number that was passed: missing until now, and so out of order, or there already. */
  #again(decision: LoggedLine, where: string): void {
    const { seq, decision_id: id } = decision;
    const place = this.#missing.findIndex(({ first, last }) => first <= seq && seq <= last);
    if (place < 0) return this.#fail('doubled', { detail: `${id} is there more than once.`, where });
    const { first, last } = this.#missing[place]!;
    const rest = [
      { first, last: seq - 1 },
      { first: seq + 1, last },
    ].filter((range) => range.first <= range.last);
    this.#missing.splice(place, 1, ...rest);
    this.#fail('order', { detail: `${id} stands behind decisions that came after it.`, where });
  }

  #tellMissing(first: number, last: number, where: string): void {
    const range = first === last ? `Decision ${first}` : `Decisions ${first} to ${last}`;
    const isDropped = this.#dropped.some(({ first_seq: from, last_seq: to }) => from <= first && last <= to);
    if (isDropped) {
      const detail = `${range} of process ${this.#process} could not be written and were dropped, as its head says.`;
      return this.#report.failed('dropped', { detail, where });
    }
    this.#report.failed('missing', {
      detail: `${range} of process ${this.#process} ${first === last ? 'is' : 'are'} missing from the log.`,
      where,
    });
  }

  #fail(step: string, failure: Parameters<Reporter['failed']>[1]): void {
    this.#isBroken = true;
    this.#report.failed(step, failure);
  }
}

/** A reporter that tells the first faults of each kind one by one, and counts the rest. */
function limited(report: Reporter): Reporter & { tellRest(): void } {
  const told = new Map<string, number>();
  return {
    ...report,
    failed(step, failure) {
      const count = (told.get(step) ?? 0) + 1;
      told.set(step, count);
      if (count <= MOST_TOLD) report.failed(step, failure);
    },
    tellRest() {
      for (const [step, count] of told) {
        if (count > MOST_TOLD) report.note(`${count - MOST_TOLD} more faults of the kind "${step}" are not listed.`);
      }
    },
  };
}
