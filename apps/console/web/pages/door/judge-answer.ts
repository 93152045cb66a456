import * as texts from './texts.ts';

/** The subject and the venue to enter. */
export interface Question {
  readonly subjectRef: string;
  readonly venueId: string;
}

/** The response of the gate: `body` is undefined if it was not JSON. */
interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** What the door shows. Only `decision` opens it. */
export interface Verdict {
  readonly decision: 'allow' | 'deny';
  /** A reason of the gate, or one of the door: NO_NETWORK, TOO_SLOW, BAD_ANSWER, KEY_REFUSED, NOT_A_SUBJECT. */
  readonly code: string;
  /** The reason as a sentence. */
  readonly reason: string;
  /** What the person at the door can do; undefined if nothing. */
  readonly advice: string | undefined;
  /** The id of the decision in the gate's log. */
  readonly decisionId: string | undefined;
}

const REASONS: Readonly<Record<string, readonly [reason: string, advice?: string]>> = {
  ELIGIBLE: [texts.mayEnter],
  SUBJECT_UNKNOWN: [texts.thisCodeIsUnknown, texts.checkTheCodeAndAskAgain],
  ELIGIBILITY_REVOKED: [texts.thePermissionToEnterWasRevoked],
  ELIGIBILITY_SUSPENDED: [texts.thePermissionToEnterIsSuspended],
  ELIGIBILITY_UNCONFIRMED: [texts.theRecordHasToBeConfirmed, texts.callTheOffice],
  NO_SEALED_DECISION: [texts.nothingHasBeenDecidedYet],
  INELIGIBLE: [texts.theCaseWasDeclined],
  ELIGIBILITY_NOT_YET_VALID: [texts.thePermissionIsNotValidYet],
  ELIGIBILITY_EXPIRED: [texts.thePermissionHasExpired],
  POLICY_VERSION_MISMATCH: [texts.permissionUnderOtherRules],
  VENUE_UNKNOWN: [texts.thisVenueIsNotKnown, texts.checkTheVenueOfThisTablet],
  VENUE_NOT_PERMITTED: [texts.thePermissionIsForOtherVenues],
  BACKEND_UNAVAILABLE: [texts.theServiceCannotCheckThisNow, texts.askAgainInAMoment],
  DEADLINE_EXCEEDED: [texts.theCheckTookTooLong, texts.askAgain],
  RECORD_INTEGRITY_FAILED: [texts.theRecordWasModified, texts.callTheOffice],
  OVERLOADED: [texts.theServiceIsBusy, texts.askAgainInAMoment],
  INTERNAL_ERROR: [texts.theServiceFailed, texts.askAgainInAMoment],
  NO_NETWORK: [texts.theServiceCannotBeReached, texts.checkTheNetworkOfThisTablet],
  TOO_SLOW: [texts.noAnswerWithinTwoSeconds, texts.askAgain],
  BAD_ANSWER: [texts.theAnswerCannotBeTrusted, texts.askAgainOrCallTheOffice],
  KEY_REFUSED: [texts.keyWasRefused, texts.enterTheKeyAgain],
  FORBIDDEN: [texts.keyMayNotAsk, texts.enterAnotherKey],
  NOT_A_SUBJECT: [texts.notACodeOfAPerson, texts.aCodeStartsWithSubj],
  RATE_LIMITED: [texts.tooManyRequestsAtOnce, texts.waitAMomentAndAskAgain],
};

/** A denial with a code; unknown codes are shown as they are. */
export function deny(code: string, decisionId?: string): Verdict {
  const [reason, advice] = Object.hasOwn(REASONS, code) ? REASONS[code]! : [texts.refused];
  return { decision: 'deny', code, reason, advice, decisionId };
}

/**
 * Decides whether the door opens. Denies unless every member of the response is exactly that of an allow of the gate
 * for this request.
 */
export function judgeAnswer(question: Question, { status, body }: Answer): Verdict {
  if (status === 401) return deny('KEY_REFUSED');
  if (!isRecord(body)) return deny('BAD_ANSWER');
  if (status !== 200) return deny(codeOf(body) ?? 'BAD_ANSWER');
  const decisionId = typeof body['decision_id'] === 'string' ? body['decision_id'] : undefined;
  if (body['decision'] === 'deny' && body['allow'] === false) return deny(codeOf(body) ?? 'BAD_ANSWER', decisionId);
  if (!isAllow(question, body)) return deny('BAD_ANSWER', decisionId);
  return { decision: 'allow', code: 'ELIGIBLE', reason: REASONS['ELIGIBLE']![0], advice: undefined, decisionId };
}

function isAllow(question: Question, body: Readonly<Record<string, unknown>>): boolean {
  const codes = body['reason_codes'];
  const end = body['valid_until'];
  const at = momentOf(body['evaluated_at']);
  return (
    body['decision'] === 'allow' &&
    body['allow'] === true &&
    body['fail_closed'] === false &&
    Array.isArray(codes) &&
    codes.length === 1 &&
    codes[0] === 'ELIGIBLE' &&
    body['subject_ref'] === question.subjectRef &&
    body['venue_id'] === question.venueId &&
    typeof body['decision_id'] === 'string' &&
    body['decision_id'] !== '' &&
    Number.isFinite(at) &&
    (end === null || momentOf(end) > at)
  );
}

/** The reason of a denial, or the code of a problem. */
function codeOf(body: Readonly<Record<string, unknown>>): string | undefined {
  const codes = body['reason_codes'];
  const first: unknown = Array.isArray(codes) ? codes[0] : undefined;
  const code = first ?? body['code'];
  return typeof code === 'string' && code !== 'ELIGIBLE' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : undefined;
}

const momentOf = (value: unknown): number => (typeof value === 'string' ? Date.parse(value) : Number.NaN);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The subject in a typed or scanned text: the reference itself, or the only one in a link or label. */
export function subjectIn(text: string): string | undefined {
  const trimmed = text.trim();
  if (/^subj_[A-Za-z0-9_-]{1,64}$/.test(trimmed)) return trimmed;
  const found =
    trimmed.length > 2048 ? [] : [...trimmed.matchAll(/(?<![A-Za-z0-9_-])subj_[A-Za-z0-9_-]{1,64}(?![A-Za-z0-9_-])/g)];
  return found.length === 1 ? found[0]![0] : undefined;
}
