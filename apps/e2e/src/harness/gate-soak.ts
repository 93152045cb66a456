import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpAnswer } from './http-exchange.ts';
import { askGate, type GateMembers, type GateSetup } from './gate-setup.ts';

/** The life of one subject, and all answers about it. */
export interface Life {
  readonly subjectRef: string;
  caseId: string;
  /** Every 200 or 201 to the sealing, over all repetitions. */
  readonly seals: { readonly status: number; readonly text: string }[];
  /** When the seal was first requested: no check may allow before. */
  sealAskedMs: number;
  /** When the revocation was answered: no check that began later may allow. */
  revokedMs: number;
}

interface Checked {
  readonly life: Life;
  readonly startedMs: number;
  readonly durationMs: number;
  readonly answer: HttpAnswer & { readonly body: GateMembers };
}

/** Results of all checks so far. Each is judged as it comes, so a million of them need no memory. */
export interface Tally {
  checks: number;
  allowed: number;
  /** Begun after the revocation was answered. */
  afterRevocation: number;
  slowestMs: number;
  /** The checks that broke a promise; the first hundred. */
  readonly wrong: Checked[];
}

export interface Soak {
  readonly lives: readonly Life[];
  readonly tally: Tally;
  /** Ends the load once every life that was begun has reached its seal. */
  finish(): Promise<void>;
}

const MOST_WRONG = 100;

/**
 * No allow before the seal was requested, none by a check that began after the revocation was answered, and no answer
 * that is neither. Later events of a life do not change the judgement: both moments precede the check.
 */
function judge(tally: Tally, each: Checked): void {
  const { life, startedMs, durationMs, answer } = each;
  const { decision, allow } = answer.body;
  const isAllow = answer.text.includes('"allow":true') || answer.text.includes('"decision":"allow"');
  const isDeny = decision === 'deny' && allow === false;
  tally.checks += 1;
  tally.slowestMs = Math.max(tally.slowestMs, durationMs);
  if (isAllow) tally.allowed += 1;
  if (startedMs > life.revokedMs) tally.afterRevocation += 1;
  const isTooLate = startedMs >= life.revokedMs;
  const isTooEarly = startedMs + durationMs < life.sealAskedMs;
  const isClear = isAllow ? answer.status === 200 && decision === 'allow' && allow === true : isDeny;
  const isWrong = !isClear || (isAllow && (isTooLate || isTooEarly));
  if (isWrong && tally.wrong.length < MOST_WRONG) tally.wrong.push(each);
}

const PAUSE_MS = 50;

/** Runs applicants and doors during any fault: each repeats its request until it is answered. */
export function startSoak({
  setup,
  applicants,
  doors,
}: {
  readonly setup: GateSetup;
  /** Concurrent applicants and doors. */
  readonly applicants: number;
  readonly doors: number;
}): Soak {
  const lives: Life[] = [];
  const tally: Tally = { checks: 0, allowed: 0, afterRevocation: 0, slowestMs: 0, wrong: [] };
  let isOver = false;
  const applicant = async (): Promise<void> => {
    while (!isOver) {
      const life = newLife();
      await live(setup, life, lives);
    }
  };
  const door = async (number: number): Promise<void> => {
    for (let turn = number; !isOver; turn += 1) {
      const life = lives[Math.max(0, lives.length - 1 - (turn % 12))];
      if (life === undefined) await delay(PAUSE_MS);
      else await checkOnce(setup, { life, turn, tally });
    }
  };
  const all = [
    ...Array.from({ length: applicants }, applicant),
    ...Array.from({ length: doors }, (_, number) => door(number)),
  ];
  return {
    lives,
    tally,
    async finish() {
      isOver = true;
      await Promise.all(all);
    },
  };
}

function newLife(): Life {
  const subjectRef = `subj_${randomBytes(8).toString('hex')}`;
  return { subjectRef, caseId: '', seals: [], sealAskedMs: Infinity, revokedMs: Infinity };
}

async function live(setup: GateSetup, life: Life, lives: Life[]): Promise<void> {
  const created = await insist(setup, ['POST', '/v1/cases'], {
    body: { subject_ref: life.subjectRef, venue_ids: ['*'] },
    idempotencyKey: life.subjectRef,
  });
  life.caseId = String(created.body['case_id']);
  lives.push(life);
  const decision = { policy_version: 'p1', decision: 'approve' };
  await insist(setup, ['POST', `/v1/cases/${life.caseId}/decide`], { body: decision });
  life.sealAskedMs = performance.now();
  const idempotencyKey = `${life.caseId}:p1`;
  // Requested twice concurrently, so that the two meet.
  const seals = await Promise.all(
    [0, 1].map(() => insist(setup, ['POST', `/v1/cases/${life.caseId}/seal`], { idempotencyKey })),
  );
  life.seals.push(...seals.map(({ status, text }) => ({ status, text })));
  if (randomBytes(1)[0]! < 128) return;
  await revoke(setup, life);
}

async function revoke({ admins }: GateSetup, life: Life): Promise<void> {
  for (let turn = 0; ; turn += 1) {
    try {
      const admin = admins[turn % admins.length]!;
      await admin.ask('POST', `/subjects/${life.subjectRef}/revoke`, { reason: 'Soak' });
      life.revokedMs = performance.now();
      return;
    } catch {
      await delay(PAUSE_MS);
    }
  }
}

/** Repeats the same request, at one gate after the other, until it is answered. */
async function insist(
  setup: GateSetup,
  target: readonly [string, string],
  asking: { readonly body?: unknown; readonly idempotencyKey?: string },
): Promise<HttpAnswer & { readonly body: GateMembers }> {
  const { gates, key } = setup;
  for (let turn = randomBytes(1)[0]!; ; turn += 1) {
    const gate = gates[turn % gates.length]!;
    const answer = await askGate({ gate, key }, target, asking).catch(() => undefined);
    if (answer !== undefined && answer.status < 300) return answer;
    // Not a fault of the client: the answer was lost, or the first request is still running.
    const isPassing = answer === undefined || answer.status >= 500 || answer.body['code'] === 'IDEMPOTENCY_IN_PROGRESS';
    if (!isPassing) throw new Error(`${target.join(' ')} was refused: ${answer.text}`);
    await delay(PAUSE_MS);
  }
}

async function checkOnce(
  { gates, key }: GateSetup,
  { life, turn, tally }: { life: Life; turn: number; tally: Tally },
): Promise<void> {
  const gate = gates[turn % gates.length]!;
  const body = { subject_ref: life.subjectRef, venue_id: 'hall' };
  const startedMs = performance.now();
  const answer = await askGate({ gate, key }, ['POST', '/v1/gate/check'], { body }).catch(() => undefined);
  if (answer === undefined) return delay(PAUSE_MS);
  judge(tally, { life, startedMs, durationMs: answer.durationMs, answer });
}
