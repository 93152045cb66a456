import { randomBytes } from 'node:crypto';
import {
  cachedCheck,
  type Basics as HostBasics,
  type Composition,
  type Own,
  type ServiceHealth,
} from '@sealgate/service-host';
import { backgroundLoop, reasonOf, type startTimer } from '@sealgate/storage';
import { consoleApp } from './app.ts';
import type { ConsoleConfig } from './config.ts';
import type { ConsoleMetrics } from './console-metrics.ts';
import { askAdmin, askPerson, askWaiting } from './data/ask-admin.ts';
import { endedSessions } from './data/ended-sessions.ts';
import { Forwarder, MAX_CONCURRENT, type PassageOutcome } from './data/forwarder.ts';
import { prometheus } from './data/prometheus.ts';
import { openIdProvider, type Provider } from './data/provider.ts';
import { problemOf, reachability } from './data/reachability.ts';
import { surfaceStates } from './data/surface-states.ts';
import type { WebFiles } from './data/web-files.ts';
import { AccessTokens } from './domain/access-tokens.ts';
import { Cookies } from './domain/cookies.ts';
import { listenerAccess } from './domain/listener-access.ts';
import { OpenPassages } from './domain/open-passages.ts';
import type { Session } from './domain/session.ts';
import { SessionLiveness } from './domain/session-liveness.ts';
import { signInFlow } from './domain/sign-in.ts';
import { Slots } from './domain/slots.ts';
import { audiencesOf, SURFACE_IDS, type Audience } from './domain/surfaces.ts';

interface Basics extends Omit<HostBasics<ConsoleConfig>, 'metrics'> {
  readonly counters: ConsoleMetrics;
  readonly webFiles: WebFiles;
  readonly startTimer?: typeof startTimer;
}

/** Of each surface: an open stream holds a slot too. */
const FORWARDING = { total: MAX_CONCURRENT, perHolder: 64, strangers: 256 };
/** Sign-ins under way, each for as long as the provider needs. */
const SIGN_INS = { total: 64, perHolder: 8, strangers: 64 };
/** Questions to the provider whether a session is still live: one at a time for each session. */
const ASKING = { total: 32, perHolder: 8, strangers: 0 };
/** Between two checks whether the sessions of open passages are still live. */
const SESSION_CHECK_MS = 5_000;
const CHECK_TIMEOUT_MS = 800;
const KEEP_CHECK_MS = 5_000;
const NONCE_BYTES = 18;
const SECRET_BYTES = 32;

/** The opened resources of the process. */
export function compose(basics: Basics, own: Own): Composition {
  const { config, now, newId, log, counters, appBase, webFiles } = basics;
  const { publicUrl, surfaces, serverSecrets, bodyMaxBytes } = config;
  const provider = openIdProvider({
    issuer: config.oidcIssuer,
    clientId: config.oidcClientId,
    clientSecret: config.oidcClientSecret,
    scope: config.oidcScope,
    publicUrl,
    now,
    onFailure: (call, reason) => {
      counters.providerFailed(call);
      log.warn('provider_call_failed', { call, reason });
    },
  });
  const cookies = new Cookies({ seals: serverSecrets.sealing('console cookies'), publicUrl, now });
  const { tokens, liveness, passages, shared } = sessionsOf({ ...basics, provider }, own);
  const slots = new Map(SURFACE_IDS.map((id) => [id, new Slots(FORWARDING)] as const));
  const signIns = new Slots(SIGN_INS);
  const forwarders = new Map(
    SURFACE_IDS.map((id) => {
      const onOutcome = (outcome: PassageOutcome) => counters.passed(id, outcome);
      const forwarder = new Forwarder({ bodyMaxBytes, onOutcome });
      own(`connections to ${id}`, () => forwarder.close());
      return [id, forwarder] as const;
    }),
  );
  const flow = signInFlow({
    provider,
    audiences: audiencesOf(surfaces),
    sessionMaxMs: 1000 * config.sessionMaxSeconds,
    now,
    newId: () => newId('ses_'),
    newSecret: () => randomBytes(SECRET_BYTES).toString('base64url'),
  });
  const publicApp = consoleApp(appBase, {
    cookies,
    publicUrl,
    surfaces,
    flow,
    ...webFiles,
    newNonce: () => randomBytes(NONCE_BYTES).toString('base64'),
    onOutcome: (outcome) => counters.signedIn(outcome),
    remember(session, audience, token) {
      if (audience !== undefined) tokens.remember(session, audience, token);
      liveness.confirm(session);
    },
    isLive: (session) => liveness.isLive(session),
    currentSession: (session) => tokens.current(session),
    takeSlot: (surface, holder) => slots.get(surface)!.take(holder),
    openPassage: (passage) => passages.open(passage),
    takeSignInSlot: (address) => signIns.take({ address }),
    async signOut(session) {
      const ended = liveness.end(session);
      passages.end(session);
      // A refresh token that is issued after the revocation would outlive it.
      const newest = await tokens.settled(session);
      tokens.forget(session);
      const [endSessionUrl] = await Promise.all([provider.endSessionUrl(), provider.revoke(newest), ended]);
      return endSessionUrl;
    },
    ...accessOf({ surfaces, now, tokens }),
    forward: ({ surface, ...passage }) => forwarders.get(surface)!.forward(passage),
    tokenFor: (session, audience) => tokens.tokenFor(session, audience),
    problemOf: ({ url }) => problemOf(url, CHECK_TIMEOUT_MS),
    states: surfaceStates({ surfaces, now }),
    measured: config.prometheusUrl === undefined ? undefined : prometheus({ url: config.prometheusUrl, now }),
  });
  const reached = reachability({ provider, surfaces, redis: shared, deadlineMs: CHECK_TIMEOUT_MS });
  const ready = cachedCheck<ServiceHealth>({
    check: reached,
    otherwise: { ok: false, body: { status: 'unhealthy', reason: 'the checks took too long' } },
    deadlineMs: CHECK_TIMEOUT_MS + 100,
    keepMs: KEEP_CHECK_MS,
    now,
  });
  return { publicApp, ready };
}

/** What a person may do and see, as the listeners tell whoever holds the person's token. */
function accessOf({
  tokens,
  ...about
}: Pick<ConsoleConfig, 'surfaces'> & Pick<Basics, 'now'> & { tokens: AccessTokens }) {
  const asking = { tokenFor: (session: Session, audience: Audience) => tokens.tokenFor(session, audience) };
  const asked = { askAdmin: askAdmin(asking), askPerson: askPerson(asking), askWaiting: askWaiting(asking) };
  return listenerAccess({ ...about, ...asked });
}

/** The tokens of sessions, whether these are still live, and what is forwarded for them. */
function sessionsOf(
  { config, now, log, provider, startTimer }: Basics & { readonly provider: Provider },
  own: Own,
): {
  readonly tokens: AccessTokens;
  readonly liveness: SessionLiveness;
  readonly passages: OpenPassages;
  readonly shared: ReturnType<typeof endedSessions> | undefined;
} {
  const shared = config.redisUrl === undefined ? undefined : endedSessions({ url: config.redisUrl, now, log });
  if (shared !== undefined) own('redis', () => shared.close());
  const [audience] = audiencesOf(config.surfaces);
  const asking = new Slots(ASKING);
  const liveness = new SessionLiveness({
    shared,
    now,
    onEnded(session) {
      tokens.forget(session);
      passages.end(session);
    },
    async ask(given) {
      const session = tokens.current(given);
      const release = asking.take(session);
      try {
        return (await provider.isActive(session)) ?? (await tokens.isAccepted(session, audience));
      } finally {
        release();
      }
    },
  });
  const tokens = new AccessTokens({ endpoint: provider, now, onRenewed: (session) => liveness.confirm(session) });
  const passages = new OpenPassages({
    isLive: (session) => liveness.isLive(session),
    current: (session) => tokens.current(session),
    now,
  });
  const checks = backgroundLoop({
    work: (stopping) => passages.check(stopping),
    pauseMs: SESSION_CHECK_MS,
    firstAfterMs: SESSION_CHECK_MS,
    onFailure: (error) => log.warn('session_check_failed', { reason: reasonOf(error) }),
    ...(startTimer !== undefined && { startTimer }),
  });
  own('checks of sessions', () => checks.stop());
  return { tokens, liveness, passages, shared };
}
