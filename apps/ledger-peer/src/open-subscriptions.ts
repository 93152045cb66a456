import type { SecretWatch, Surface } from '@sealgate/audit';
import type { Basics, Own } from '@sealgate/service-host';
import type { PeerConfig } from './config.ts';
import { SealedTextError } from '@sealgate/auth';
import { reasonOf, startTimer } from '@sealgate/storage';
import { resolveByDns, urlProblem } from './data/receiver-address.ts';
import { subscriptionWorker } from './data/subscription-worker.ts';
import { deliveryStore, resealSecrets, subscriptionsStore } from './data/subscriptions-store.ts';
import { webhookSender } from './data/webhook-sender.ts';
import { deliverEvents } from './domain/deliver-events.ts';
import type { EventSource } from './domain/event-source.ts';
import type { ManageSubscriptionsPorts } from './domain/manage-subscriptions.ts';
import type { KeptSecret } from './domain/subscription.ts';
import { subscriptionMetrics } from './peer-metrics.ts';

/** How long a process may be silent before another one delivers in its place. */
const LEASE_MS = 15_000;
const HOLD_EVERY_MS = 3000;
const SEND_WITHIN_MS = 10_000;
const SEAL_AGAIN_EVERY_MS = 60_000;

type OpenSubscriptionsOptions = Pick<Basics<PeerConfig>, 'config' | 'now' | 'newId' | 'log' | 'metrics'> &
  Pick<Surface, 'sql' | 'look' | 'background' | 'repeat'> & {
    readonly source: EventSource;
    readonly secretWatch: SecretWatch;
    readonly own: Own;
  };

/** Opens the store of subscriptions, and delivers those that no other process does. */
export function openSubscriptions(options: OpenSubscriptionsOptions): ManageSubscriptionsPorts {
  const { config, now, newId, log, metrics, sql, look, background, source } = options;
  const { mappings, subscriptionAllowedCidrs: allowed } = config;
  const box = config.serverSecrets.sealing('subscription secrets');
  const open = ({ id, sealed }: KeptSecret, subscriptionId: string): string | undefined => {
    try {
      return box.open(sealed, subscriptionId);
    } catch (error) {
      if (!(error instanceof SealedTextError)) throw error;
      log.error('subscription_secret_sealed', { subscriptionId, secretId: id });
      return undefined;
    }
  };
  const store = deliveryStore(background, { owner: newId('proc_'), leaseMs: LEASE_MS });
  const counters = subscriptionMetrics(metrics, () => worker);
  const ports = {
    ...{ store, source, mappings, now, open, startTimer },
    send: webhookSender({ allowed, resolve: resolveByDns, now, withinMs: SEND_WITHIN_MS }),
    random: Math.random,
    onStopped: (subscriptionId: string, problem: string) =>
      log.error('subscription_stopped', { subscriptionId, reason: problem }),
    onAttempt: counters.onAttempt,
  };
  const worker = subscriptionWorker({
    store,
    deliver: (held, signal) => deliverEvents(ports, held, signal),
    everyMs: HOLD_EVERY_MS,
    now,
    onFailure: (error) => log.warn('subscriptions_not_delivered', { reason: reasonOf(error) }),
  });
  options.own('subscriptions', () => worker.stop());
  options.repeat({
    name: 'subscription secrets',
    everyMs: SEAL_AGAIN_EVERY_MS,
    failure: 'subscription_secrets_unsealed',
    level: 'debug',
    // Once all processes use the new server secret, encrypt again what an earlier one encrypted.
    async work() {
      if (await options.secretWatch.isSettled()) await resealSecrets(background, box);
    },
  });
  return {
    subscriptions: subscriptionsStore(sql, look),
    source,
    mappings,
    seal: (value, subscriptionId) => box.seal(value, subscriptionId),
    urlProblem: (url) => urlProblem(url, allowed),
    newId: () => newId('sub_'),
    now,
  };
}
