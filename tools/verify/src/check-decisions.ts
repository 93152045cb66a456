import { decisionHash, type DecisionHead, type DroppedDecisions } from '@sealgate/envelope';
import { type HeadsInput, readHeads } from './decision-files.ts';
import { compareHeads } from './heads-in-log.ts';
import { readDecision, type LoggedLine } from './read-decision.ts';
import { readNdjson } from './read-file.ts';
import { type Report, type Reporter, startReport } from './report.ts';

interface DecisionsInput extends HeadsInput {
  /** NDJSON of the decision log, by process and number. */
  readonly decisions: string;
  /** A copy of the log that contains the heads: with it, withheld heads are reported. */
  readonly log?: string | undefined;
}

/** Faults of one kind that are listed; further ones are counted. */
const MOST_TOLD = 100;

/**
 * Checks a decision log against its heads in the ledger. Every decision covered by a head must be present once, in its
 * place and unchanged; missing, duplicate, misplaced and changed ones are reported. Decisions after the last head of a
 * process are not sealed yet, which is reported as a note. @throws UnreadableError for files of another format.
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
  if (counts.left > 0) report.note(`${counts.left} decisions before the first head were not checked.`);
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
  if (open.length > MOST_TOLD) report.note(`The same applies to ${open.length - MOST_TOLD} more processes.`);
  const headless = chains.filter(({ headCount }) => headCount === 0).length;
  if (headless > 0) report.note(`${headless} processes have no head: their decisions are not proved.`);
}

/** Checks the decisions of one process, starting at the first head that counts. */
class ProcessChain {
  readonly #report: Reporter;
  readonly #process: string;
  readonly #heads: readonly DecisionHead[];
  readonly #dropped: readonly DroppedDecisions[];
  /** The first number that is checked, and the next expected one. */
  readonly #from: number;
  #next: number;
  /** The hash of the decision before the next; undefined if unknown. */
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
      const detail = `${decision.decision_id} comes after the last head of its process, which marks the end.`;
      this.#report.failed('added', { detail, where });
    }
    return seq <= this.#lastSealed ? 'sealed' : 'unsealed';
  }

  /** Reports missing decisions. */
  finish(where: string): void {
    if (this.#next <= this.#lastSealed) this.#skipTo(this.#lastSealed + 1);
    for (const { first, last } of this.#missing) this.#tellMissing(first, last, where);
  }

  /** What is not proved yet; undefined if the process has ended. */
  get open(): string | undefined {
    if (this.#heads.at(-1)?.ended === true) return undefined;
    const behind = this.#next - 1 - Math.max(this.#lastSealed, this.#from - 1);
    const unsealed = behind > 0 ? `${behind} decisions come after its last head and are not proved yet` : '';
    return `Process ${this.#process} has no final head: it is still running, or its decisions after number ${this.#next - 1} were lost with it.${unsealed === '' ? '' : ` ${unsealed}.`}`;
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
      // The stored hash is used until the next head, so that each decision is judged on its own.
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

  /** Decisions before `seq` are missing, unless they appear later. */
  #skipTo(seq: number): void {
    this.#missing.push({ first: this.#next, last: seq - 1 });
    this.#next = seq;
    this.#isBroken = true;
    this.#hash = this.#dropped.find(({ last_seq: last }) => last === seq - 1)?.hash;
    this.#passHeads('');
  }

  /** A number below the next: missing until now, so out of order, or a duplicate. */
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
    this.#fail('order', { detail: `${id} comes after later decisions.`, where });
  }

  #tellMissing(first: number, last: number, where: string): void {
    const range = first === last ? `Decision ${first}` : `Decisions ${first} to ${last}`;
    const isDropped = this.#dropped.some(({ first_seq: from, last_seq: to }) => from <= first && last <= to);
    if (isDropped) {
      const detail = `${range} of process ${this.#process} could not be written and were dropped, according to its head.`;
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

/** Reports the first faults of each kind, and counts the rest. */
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
