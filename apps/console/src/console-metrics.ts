import type { Metrics } from '@sealgate/observability';
import type { PassageOutcome } from './data/forwarder.ts';
import type { ProviderCall } from './data/provider.ts';
import { SURFACE_IDS, type SurfaceId } from './domain/surfaces.ts';
import type { SignInOutcome } from './routes/sign-in.ts';

const PASSAGES: readonly PassageOutcome[] = ['answered', 'unreachable', 'unknown', 'refused', 'cut'];
const SIGN_INS: readonly SignInOutcome[] = ['signed_in', 'refused', 'provider_away'];
const CALLS: readonly ProviderCall[] = ['discovery', 'code', 'refresh', 'introspection', 'revocation'];

export interface ConsoleMetrics {
  passed(surface: SurfaceId, outcome: PassageOutcome): void;
  signedIn(outcome: SignInOutcome): void;
  providerFailed(call: ProviderCall): void;
}

export function consoleMetrics(metrics: Metrics): ConsoleMetrics {
  const passages = metrics.counter({
    name: 'console_passages_total',
    help: 'Requests forwarded to a surface, by outcome; unknown: changes whose response was lost.',
    labels: { surface: SURFACE_IDS, outcome: PASSAGES },
  });
  const signIns = metrics.counter({
    name: 'console_sign_ins_total',
    help: 'Completed sign-ins, by outcome.',
    labels: { outcome: SIGN_INS },
  });
  const failures = metrics.counter({
    name: 'console_provider_failures_total',
    help: 'Failed calls to the identity provider, by reason.',
    labels: { call: CALLS },
  });
  // Exposed as 0 from the start, so that rate() sees the first increase.
  for (const call of CALLS) failures.child({ call });
  for (const outcome of SIGN_INS) signIns.child({ outcome });
  for (const surface of SURFACE_IDS) for (const outcome of PASSAGES) passages.child({ surface, outcome });
  return {
    passed: (surface, outcome) => passages.inc({ surface, outcome }),
    signedIn: (outcome) => signIns.inc({ outcome }),
    providerFailed: (call) => failures.inc({ call }),
  };
}
