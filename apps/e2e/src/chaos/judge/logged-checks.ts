import { Findings, type Check } from './check.ts';
import { membersOf } from './canonical.ts';
import type { Databases } from './databases.ts';

/** Bits of what clients were told of a decision. */
const TOLD = 1;
const ALLOWED = 2;
const LOGGED = 4;

/** The decisions of one process of the gate, by their sequence number. */
interface Decisions {
  marks: Uint8Array;
  /** The newest that was told or logged. */
  newest: number;
  newestLogged: number;
}

/** `gd_<process>_<number>`, as the answers have it. */
const DECISION = /^gd_(.+)_(\d+)$/;
const PAGE = 20_000;

/**
 * Every decision that a client was told is in the log once, as it was told. What a process had not written when it was
 * killed is lost, and its ids say so: at most one tail for each kill.
 */
export function loggedChecks(): Check {
  const findings = new Findings('every decided check is in the decision log once, as it was told');
  const processes = new Map<string, Decisions>();
  let kills = 0;
  const decisionsOf = (process: string, seq: number): Decisions => {
    const known = processes.get(process) ?? { marks: new Uint8Array(1024), newest: 0, newestLogged: 0 };
    processes.set(process, known);
    if (seq >= known.marks.length) {
      const larger = new Uint8Array(Math.max(seq + 1, known.marks.length * 2));
      larger.set(known.marks);
      known.marks = larger;
    }
    known.newest = Math.max(known.newest, seq);
    return known;
  };
  const told = (text: string, number: number): void => {
    const { decision_id: id, decision } = membersOf(text);
    const [, process, digits] = DECISION.exec(String(id)) ?? [];
    if (process === undefined) return findings.add(`line ${number}: an answer of 200 has no decision id`);
    const seq = Number(digits);
    const { marks } = decisionsOf(process, seq);
    findings.judge((marks[seq]! & TOLD) > 0 && `line ${number}: the decision ${String(id)} was told twice`);
    marks[seq] = TOLD | (decision === 'allow' ? ALLOWED : 0);
  };
  const logged = ({ process, seq, decision }: { process: string; seq: number; decision: string }): void => {
    const known = decisionsOf(process, seq);
    known.newestLogged = Math.max(known.newestLogged, seq);
    const mark = known.marks[seq]!;
    if ((mark & LOGGED) > 0) findings.add(`the decision ${seq} of ${process} is in the log twice`);
    if ((mark & TOLD) > 0 && (mark & ALLOWED) > 0 !== (decision === 'allow'))
      findings.add(`the decision ${seq} of ${process} is ${decision} in the log, and another was told`);
    known.marks[seq] = mark | LOGGED;
  };
  return {
    line(line, number) {
      if (line.is === 'fault' && line.hit.startsWith('case-gate')) kills += line.did['kills'] ?? 0;
      if (line.is === 'asked' && line.act === 'check' && line.status === 200) told(line.text ?? '', number);
    },
    async close(databases) {
      if (!databases.has('case-gate')) return findings.verdict();
      for await (const row of loggedDecisions(databases)) logged(row);
      let tails = 0;
      for (const [process, { marks, newest, newestLogged }] of processes) {
        for (let seq = 1; seq <= newestLogged; seq += 1)
          if ((marks[seq]! & LOGGED) === 0) findings.add(`the decision ${seq} of ${process} is not in the log`);
        if (newest > newestLogged) tails += 1;
      }
      if (tails > kills)
        findings.add(`${tails} processes of the gate lost the end of their log, and ${kills} were killed`);
      return findings.verdict();
    },
  };
}

interface Logged {
  readonly process: string;
  readonly seq: number;
  readonly decision: string;
}

async function* loggedDecisions(databases: Databases): AsyncGenerator<Logged> {
  for (let after = ''; ;) {
    const rows = await databases.rows<Logged & { decision_id: string }>(
      'case-gate',
      `SELECT decision_id, process, seq::integer AS seq, decision FROM gate.gate_decisions
        WHERE decision_id > $1 ORDER BY decision_id LIMIT ${PAGE}`,
      [after],
    );
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.decision_id;
  }
}
