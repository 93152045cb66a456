import type { Asked, Fault } from '../history.ts';
import { isObject, membersOf } from './canonical.ts';
import { Findings, type Check } from './check.ts';

/** What somebody did with a session: one line of it. */
interface Use {
  readonly number: number;
  readonly asked: Asked;
}

/** Of a session, all that is known of it. */
interface Life {
  signedInAtMs?: number;
  signedOut?: Asked;
  readonly uses: Use[];
}

/** A tenth of the lifetime of an access token is left then, so that none has to be fetched. */
const TOKENS_LAST_MS = 540_000;
/** A session that was confirmed by the provider this long before goes on without it. */
const CONFIRMED_MS = 240_000;
/** Every replica refuses a session this long after it ended. */
const ENDED_WITHIN_MS = 10_000;
/** A client of Redis or of the provider connects again within this. */
const RECONNECTED_MS = 5_000;

const OF_OPERATORS: ReadonlySet<string> = new Set(['read', 'session', 'add-network']);

/** A session is its person's, lasts as long as it was promised, whatever fails, and no longer. */
export function sessions(): Check {
  const findings = new Findings("a session at the console is its person's, goes on until they sign out, and no longer");
  const lives = new Map<string, Life>();
  const faults: Fault[] = [];
  return {
    line(line, number) {
      if (line.is === 'fault') faults.push(line);
      if (line.is !== 'asked' || line.surface !== 'console' || line.sent?.session === undefined) return;
      const life = lives.get(line.sent.session) ?? { uses: [] };
      lives.set(line.sent.session, life);
      if (line.status === undefined) return;
      if (line.act === 'signed-in') life.signedInAtMs = line.endedMs;
      if (line.act === 'sign-out' && line.status === 200) life.signedOut = line;
      life.uses.push({ number, asked: { ...line, text: shortOf(line) } });
      findings.judge(breachOf(line, number));
    },
    close() {
      const outages = faults.filter(({ name }) => name.startsWith('provider-'));
      for (const life of lives.values())
        for (const use of life.uses) {
          if (use.asked.act === 'copied') judgeCopied(findings, use, life.signedOut, faults);
          else if (outages.some((outage) => isIn(outage, use.asked))) judgeOutage(findings, use, life, faults);
        }
      return Promise.resolve(findings.verdict());
    },
  };
}

/** Enough to tell whose fault a refusal was. */
const shortOf = ({ status = 0, text = '' }: Asked): string => (status < 400 ? '' : text);

const isIn = ({ startedMs, healedMs }: Fault, { startedMs: atMs }: Asked): boolean =>
  startedMs <= atMs && atMs <= healedMs;

const meets = ({ startedMs, healedMs }: Fault, fromMs: number, toMs: number): boolean =>
  startedMs <= toMs && fromMs <= healedMs;

/** Whether the process of that replica may be another one than before, or have stood still. */
const hits = ({ hit }: Fault, replica: number): boolean => hit === 'console' || hit === `console/${replica}`;

/** By the answer alone. */
function breachOf({ act, as, status, text, target }: Asked, number: number): string | undefined {
  if (status === 403 && OF_OPERATORS.has(act)) return `line ${number}: the operator ${as} was refused`;
  if (status !== 200) return undefined;
  const members = membersOf(text);
  if (act === 'session') {
    const { person = null } = members;
    if (!isObject(person)) return `line ${number}: the session of ${as} was told to have ended`;
    if (person['subject'] !== as) return `line ${number}: ${as} was told to be ${String(person['subject'])}`;
  }
  if (act === 'read' && target.endsWith('/whoami') && !String(members['actor']).endsWith(`#${as}`))
    return `line ${number}: ${as} was ${String(members['actor'])} for the surface`;
  return undefined;
}

/** A cookie of a session that ended is refused: at once by the process that ended it, and soon by all. */
function judgeCopied(
  findings: Findings,
  { number, asked }: Use,
  signedOut: Asked | undefined,
  faults: readonly Fault[],
): void {
  if (signedOut === undefined || asked.status === undefined || asked.status >= 300) return;
  const isUnknown = faults.some(
    (fault) =>
      // Its end was told to nobody at once, or nobody can be asked now.
      (/^(redis-|provider-|dns-gone)/.test(fault.name) &&
        meets(fault, signedOut.startedMs - RECONNECTED_MS, signedOut.endedMs + RECONNECTED_MS)) ||
      (fault.name.startsWith('provider-') && meets(fault, asked.startedMs - RECONNECTED_MS, asked.endedMs)),
  );
  if (isUnknown) return;
  const isSameProcess =
    asked.replica === signedOut.replica &&
    !faults.some((fault) => hits(fault, asked.replica) && meets(fault, signedOut.startedMs, asked.endedMs));
  if (asked.startedMs > signedOut.endedMs + ENDED_WITHIN_MS || (isSameProcess && asked.startedMs > signedOut.endedMs))
    findings.add(`line ${number}: the session of ${asked.as} had ended, and was answered ${asked.status}`);
}

/** While the provider is away, a replica that has the token and knew the session to be live goes on. */
function judgeOutage(findings: Findings, { number, asked }: Use, life: Life, faults: readonly Fault[]): void {
  if (!OF_OPERATORS.has(asked.act) || asked.startedMs - (life.signedInAtMs ?? 0) > TOKENS_LAST_MS) return;
  const outage = faults.find((one) => one.name.startsWith('provider-') && isIn(one, asked))!;
  const isWarm = life.uses.some(({ asked: before }) => {
    if (before.replica !== asked.replica || placeOf(before) !== placeOf(asked)) return false;
    if ((before.status ?? 0) >= 300 || before.endedMs >= outage.startedMs) return false;
    if (before.startedMs < asked.startedMs - CONFIRMED_MS) return false;
    return !faults.some((fault) => hits(fault, asked.replica) && meets(fault, before.startedMs, asked.endedMs));
  });
  const isStopped = asked.status === 401 || (asked.status === 503 && /identity provider/i.test(asked.text ?? ''));
  if (isWarm) findings.judge(isStopped && `line ${number}: ${asked.as} did not go on without the provider`);
}

/** What a token is for: `GET /admin/case-gate`, or the console itself. */
const placeOf = ({ target }: Asked): string => /^[A-Z]+ (\/admin\/[a-z-]+|\/session)/.exec(target)?.[1] ?? target;
