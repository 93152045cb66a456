/** A signed-in person. Stored only in a sealed cookie, so that any replica can read it. */
export interface Session {
  /** Random id of the sign-in: the key for what this process caches of it. */
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  readonly refreshToken: string;
  /** Number of refresh exchanges: of two cookies of one session, the higher is newer. */
  readonly renewals: number;
  /** Milliseconds since the epoch: the end of the session, regardless of renewals. */
  readonly endsAtMs: number;
}

/** A sign-in started in this browser that has not returned yet. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** A path of the console. */
  readonly returnTo: string;
  readonly endsAtMs: number;
}

/** Serialised as JSON with short names: a cookie holds at most 4,096 bytes. */
export const sessionText = (session: Session): string =>
  JSON.stringify({
    i: session.id,
    u: session.issuer,
    s: session.subject,
    n: session.name,
    e: session.email,
    r: session.refreshToken,
    c: session.renewals,
    x: session.endsAtMs,
  });

/** The text was sealed by this version or an earlier one, so its shape is known. */
export function parseSession(text: string): Session | undefined {
  const { i, u, s, n, e, r, c, x } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const isWhole = [i, u, s, r].every((one) => typeof one === 'string') && [c, x].every(Number.isSafeInteger);
  if (!isWhole) return undefined;
  return {
    id: i as string,
    issuer: u as string,
    subject: s as string,
    name: typeof n === 'string' ? n : undefined,
    email: typeof e === 'string' ? e : undefined,
    refreshToken: r as string,
    renewals: c as number,
    endsAtMs: x as number,
  };
}
