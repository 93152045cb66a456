/** Somebody who is signed in. It lives in a sealed cookie and nowhere else, so that any replica knows it. */
export interface Session {
  /** Of the sign-in, made by us: what this process remembers of it is found by it. */
  readonly id: string;
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  readonly refreshToken: string;
  /** How often the refresh token was exchanged: of two cookies of one session the one with more is the later. */
  readonly renewals: number;
  /** Milliseconds since the epoch; the session has ended then, whatever was renewed. */
  readonly endsAtMs: number;
}

/** A sign-in that was begun in this browser and has not come back yet. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** A path of ours. */
  readonly returnTo: string;
  readonly endsAtMs: number;
}

/** As JSON with short names: a cookie holds at most 4,096 bytes. */
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

/** The text was sealed by us, so it has the shape that we gave it, or that an earlier version of us did. */
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
