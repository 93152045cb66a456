import { describe, expect, it } from '@jest/globals';
import type { DecisionHead } from '@sealgate/envelope';
import { canonicalHash } from '@sealgate/json';
import { until } from '@sealgate/testing';
import type { Log } from '@sealgate/observability';
import type { Sql, Statement } from '@sealgate/storage';
import type { GateDecision } from '../domain/gate-decision.ts';
import { decisionLog, type KeptHead } from './decision-log.ts';

const NOW_MS = Date.UTC(2030, 0, 2);

function opened(maxWaiting = 5000) {
  const written: Statement[] = [];
  let isAway = false;
  // A fake database that can be unavailable.
  const sql: Sql = {
    query: async (statement) => {
      if (isAway) throw new Error('away');
      written.push(statement);
      return [];
    },
  };
  const lines: [string, unknown][] = [];
  const line = (event: string, fields: unknown) => void lines.push([event, fields]);
  const log = { error: line, warn: line, info: line, debug: line } as unknown as Log;
  const heads: KeptHead[] = [];
  const keepHead = async (head: KeptHead) => {
    if (isAway) throw new Error('away');
    heads.push(head);
  };
  const now = () => NOW_MS;
  const decisions = decisionLog({ sql, process: 'p1', log, now, keepHead, maxWaiting, everyMs: 5 });
  const add = (count: number) => {
    for (let index = 0; index < count; index += 1) {
      const next = decisions.nextDecision();
      decisions.record(decisionOf(next), { keyId: 'key_1', requestId: 'r' });
    }
  };
  const inserts = () => written.filter(({ text }) => text.startsWith('INSERT'));
  const seqs = () => inserts().flatMap(({ values }) => int8sOf(values?.[2] as Buffer));
  const names = () => written.map(({ name }) => name);
  const hashes = () => inserts().flatMap(({ values }) => hashesOf(values?.[16] as Buffer));
  const sealed = () => heads.map(({ text }) => JSON.parse(text) as DecisionHead);
  return {
    decisions,
    add,
    seqs,
    hashes,
    heads,
    sealed,
    names,
    lines,
    setAway: (away: boolean) => void (isAway = away),
  };
}

/** Decodes a `bigint[]` parameter: count at offset 12; from 20 on, 4 bytes of length before each 8-byte element. */
function int8sOf(array: Buffer): number[] {
  return Array.from({ length: array.readInt32BE(12) }, (_, index) => Number(array.readBigInt64BE(24 + index * 12)));
}

/** Decodes a `text[]` parameter of hex hashes. */
function hashesOf(array: Buffer): string[] {
  const count = array.readInt32BE(12);
  return Array.from({ length: count }, (_, index) => array.toString('latin1', 24 + index * 68, 88 + index * 68));
}

/** The chain over decisions as `add` makes them, computed from its definition. */
function chainOf(count: number): string[] {
  const hashes: string[] = [];
  for (let seq = 1; seq <= count; seq += 1) {
    const members = {
      action: 'enter',
      decision: 'deny',
      decision_id: `gd_p1_${String(seq).padStart(10, '0')}`,
      environment: 'live',
      evaluated_at: '1970-01-01T00:00:00.000Z',
      fail_closed: false,
      key_id: 'key_1',
      ledger_record_id: null,
      policy_version: null,
      process: 'p1',
      reason_codes: ['SUBJECT_UNKNOWN'],
      record_version: null,
      request_id: 'r',
      seq,
      subject_ref: 'subj_a',
      venue_id: 'hall',
      prev_hash: hashes.at(-1) ?? null,
    };
    hashes.push(canonicalHash(members));
  }
  return hashes;
}

function decisionOf(made: Pick<GateDecision, 'decision_id' | 'seq'>): GateDecision {
  return {
    ...made,
    environment: 'live',
    subject_ref: 'subj_a',
    venue_id: 'hall',
    action: 'enter',
    decision: 'deny',
    allow: false,
    reason_codes: ['SUBJECT_UNKNOWN'],
    fail_closed: false,
    policy_version: null,
    ledger_record_id: null,
    record_version: null,
    evaluated_at: '1970-01-01T00:00:00.000Z',
    valid_until: null,
  };
}

describe('the log of decisions', () => {
  it('numbers decisions without gaps, and writes each once, in order', async () => {
    const { decisions, add, seqs } = opened();
    add(2500);
    await decisions.flush();
    expect(seqs()).toEqual(Array.from({ length: 2500 }, (_, index) => index + 1));
    expect(decisions.waiting).toBe(0);
    expect(decisions.nextDecision()).toEqual({ seq: 2501, decision_id: 'gd_p1_0000002501' });
  });

  it('retries failed writes without throwing into a check', async () => {
    const { decisions, add, seqs, names, lines, setAway } = opened();
    setAway(true);
    expect(() => add(3)).not.toThrow();
    await until(() => lines.length > 0);
    expect(lines[0]).toEqual(['decisions_not_written', { waiting: 3, reason: 'Error: away' }]);
    setAway(false);
    await decisions.flush();
    expect(seqs()).toEqual([1, 2, 3]);
    // The retried rows may exist, because the answer was lost; then they may be on the primary only.
    add(1);
    await decisions.flush();
    expect(names()).toEqual(['gate decisions again', 'confirm rows', 'gate decisions']);
  });

  it('drops the oldest when the queue is full, and names them', async () => {
    const { decisions, add, seqs, lines, setAway } = opened(2000);
    setAway(true);
    add(2001);
    expect(lines).toContainEqual(['decisions_dropped', { process: 'p1', first: 1, last: 1000 }]);
    setAway(false);
    await decisions.flush();
    expect(seqs()).toEqual(Array.from({ length: 1001 }, (_, index) => index + 1001));
  });

  it('chains each decision to the previous one, and seals how far the log was written', async () => {
    const { decisions, add, hashes, sealed, heads } = opened();
    await decisions.seal();
    expect(heads).toEqual([]);
    add(1200);
    await decisions.flush();
    const chain = chainOf(1250);
    expect(hashes()).toEqual(chain.slice(0, 1200));
    add(50);
    // Decisions that were not written are not sealed, so after a crash here no head names a missing row.
    await decisions.seal();
    const first = { v: 1, process: 'p1', number: 1, first_seq: 1, last_seq: 1200, prev_hash: null, hash: chain[1199] };
    const rest = { dropped: [], at: '2030-01-02T00:00:00.000Z', ended: false };
    expect(sealed()).toEqual([{ ...first, ...rest }]);
    await decisions.seal();
    expect(heads).toHaveLength(1);
    await decisions.end();
    const second = { number: 2, first_seq: 1201, last_seq: 1250, prev_hash: chain[1199], hash: chain[1249] };
    expect(sealed()[1]).toEqual({ ...first, ...second, ...rest, ended: true });
    await decisions.end();
    expect(heads).toHaveLength(2);
  });

  it('passes a head that was not kept again unchanged, before the next one', async () => {
    const { decisions, add, heads, sealed, setAway } = opened();
    add(3);
    await decisions.flush();
    setAway(true);
    await expect(decisions.seal()).rejects.toThrow('away');
    setAway(false);
    add(2);
    await decisions.flush();
    await decisions.seal();
    expect(sealed().map(({ number, first_seq, last_seq }) => [number, first_seq, last_seq])).toEqual([
      [1, 1, 3],
      [2, 4, 5],
    ]);
    expect(heads.map(({ process, number }) => [process, number])).toEqual([
      ['p1', 1],
      ['p1', 2],
    ]);
  });

  it('chains over dropped decisions, and the next head names them', async () => {
    const { decisions, add, hashes, sealed, setAway } = opened(2000);
    setAway(true);
    add(3001);
    setAway(false);
    await decisions.flush();
    await decisions.seal();
    const chain = chainOf(3001);
    expect(hashes()).toEqual(chain.slice(2000));
    expect(sealed()[0]).toMatchObject({
      first_seq: 1,
      last_seq: 3001,
      hash: chain[3000],
      dropped: [{ first_seq: 1, last_seq: 2000, hash: chain[1999] }],
    });
  });

  it('ends without a head if decisions could not be written, and reports a head that could not be kept', async () => {
    const { decisions, add, heads, lines, setAway } = opened();
    add(1);
    await decisions.flush();
    setAway(true);
    await decisions.end();
    expect(lines).toContainEqual(['decision_heads_failed', { process: 'p1', reason: 'Error: away' }]);
    add(3);
    await decisions.end();
    expect(heads).toEqual([]);
    expect(lines.at(-1)).toEqual(['decisions_dropped', { process: 'p1', first: 2, last: 4 }]);
  });

  it('goes on writing after a flush during which a decision was made', async () => {
    const { decisions, add, seqs } = opened();
    add(1);
    const flushed = decisions.flush();
    add(1);
    await flushed;
    add(1);
    await until(() => seqs().length === 3);
  });
});
