import { deny, judgeAnswer, type Question, type Verdict } from './judge-answer.ts';

/** Timeout from the request to the last byte of the response; then it is a denial. */
export const DOOR_DEADLINE_MS = 2000;

export interface GatePorts {
  readonly fetch: typeof fetch;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
}

/**
 * Asks the gate through the console, with the key only: cookies are not sent, so a session makes no difference. Never
 * throws and never hangs: every failure is a denial.
 */
export async function askGate({ fetch, elapsed }: GatePorts, key: string, question: Question): Promise<Verdict> {
  const began = elapsed();
  try {
    const response = await fetch('/api/case-gate/v1/gate/check', {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json', 'X-Sealgate-Console': '1' },
      body: JSON.stringify({ subject_ref: question.subjectRef, venue_id: question.venueId }),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(DOOR_DEADLINE_MS),
    });
    const body = parsed(response.headers.get('Content-Type'), await response.text());
    if (elapsed() - began > DOOR_DEADLINE_MS) return deny('TOO_SLOW');
    return judgeAnswer(question, { status: response.status, body });
  } catch (error) {
    return deny(error instanceof DOMException && error.name === 'TimeoutError' ? 'TOO_SLOW' : 'NO_NETWORK');
  }
}

function parsed(type: string | null, text: string): unknown {
  if (!/^application\/(problem\+)?json\b/i.test(type ?? '')) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
