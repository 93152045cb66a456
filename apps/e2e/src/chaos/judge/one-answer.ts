import { hash } from 'node:crypto';
import type { Asked } from '../history.ts';
import { Findings, type Check } from './check.ts';
import { listOf, membersOf } from './canonical.ts';

interface Answer {
  readonly number: number;
  readonly body: string | undefined;
  readonly text: string;
  /** The answers that were not marked as a replay, and how many there may be. */
  readonly originals: readonly number[];
  readonly most: number;
}

const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);

/**
 * All who asked one thing under one key heard the same, and at most one of them that it happened just now. Of a write to
 * several channels, which is a transaction each, two requests may have done a part. A ledger peer whose answer could not
 * be kept finds the assets again and gives the same bytes, without the mark: only the bytes are compared there.
 */
export function oneAnswer(): Check {
  const findings = new Findings('every key has one answer');
  const answers = new Map<string, Answer>();
  return {
    line(line, number) {
      if (line.is !== 'asked' || line.key === undefined || !isKept(line)) return;
      const { act, as, key, text = '', replayed = false, sent } = line;
      const name = `${act} ${as} ${key}`;
      const body = sent?.body === undefined ? undefined : digest(sent.body);
      const originals = replayed ? [] : [number];
      const answer: Answer = { number, body, text: digest(text), originals, most: partsOf(line) };
      const known = answers.get(name);
      if (known === undefined) findings.judged += 1;
      else for (const breach of breachesOf(known, answer)) findings.add(`lines ${breach} (${name})`);
      answers.set(name, known === undefined ? answer : { ...known, originals: [...known.originals, ...originals] });
    },
    close: () => Promise.resolve(findings.verdict()),
  };
}

/** A webhook whose id was used with other bytes is told so with 200, and writes nothing. */
const isKept = ({ act, status, text }: Asked): boolean =>
  status !== undefined && status < 300 && (act !== 'deliver' || listOf(membersOf(text), 'records').length > 0);

function partsOf({ act, text }: Asked): number {
  if (act === 'sync') return Infinity;
  const { transactionIds } = act === 'write' ? membersOf(text) : {};
  return Array.isArray(transactionIds) ? Math.max(1, transactionIds.length) : 1;
}

function breachesOf(known: Answer, answer: Answer): string[] {
  const { number } = answer;
  const isOther = known.body !== undefined && answer.body !== undefined && known.body !== answer.body;
  return [
    ...(known.text === answer.text ? [] : [`${known.number} and ${number}: two answers`]),
    ...(isOther ? [`${known.number} and ${number}: it was accepted with two texts`] : []),
    ...(answer.originals.length > 0 && known.originals.length >= known.most
      ? [`${known.originals.at(-1)} and ${number}: by its answers it happened twice`]
      : []),
  ];
}
