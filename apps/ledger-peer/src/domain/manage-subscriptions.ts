import { randomBytes } from 'node:crypto';
import { AppError, refusedMember } from '@sealgate/errors';
import type { TableList } from '@sealgate/paging';
import { BEGINNING, invalidCursor, makeEventCursor, readEventCursor } from './event-cursor.ts';
import { eventScope } from './event-scope.ts';
import type { EventSource } from './event-source.ts';
import type { Mappings } from './mapping.ts';
import { asked } from './read-assets.ts';
import type { GivenSecret, KeptSecret, NewSubscription, Subscription, SubscriptionChange } from './subscription.ts';

interface Transaction {
  query<Row extends object>(statement: { readonly text: string; readonly values?: readonly unknown[] }): Promise<Row[]>;
}

/** Writes in the transaction of the change: its audit event. */
export type Also = (transaction: Transaction) => Promise<void>;

export interface SubscriptionStore {
  /** False where there are `MAX_SUBSCRIPTIONS` already. */
  insert(subscription: Subscription, also: Also): Promise<boolean>;
  find(subscriptionId: string): Promise<Subscription | undefined>;
  readonly list: TableList<object, Subscription, 'createdAt'>;
  /** `change` receives the locked row. A running delivery changes nothing afterwards. Undefined where there is none. */
  update(
    subscriptionId: string,
    steps: { change: (subscription: Subscription) => Subscription; also: Also },
  ): Promise<Subscription | undefined>;
  /** False where there was none. */
  delete(subscriptionId: string, also: Also): Promise<boolean>;
}

export const MAX_SUBSCRIPTIONS = 100;

export interface ManageSubscriptionsPorts {
  readonly subscriptions: SubscriptionStore;
  readonly source: Pick<EventSource, 'newest' | 'reaches'>;
  readonly mappings: Mappings;
  /** Encrypts a secret; it can be decrypted for this subscription only. */
  readonly seal: (value: string, subscriptionId: string) => string;
  /** Why a URL is not taken; undefined: it is. */
  readonly urlProblem: (url: string) => string | undefined;
  readonly newId: () => string;
  readonly now: () => number;
}

/** A subscription, and the values of secrets that were generated for it. */
export interface ManagedSubscription {
  readonly subscription: Subscription;
  readonly generated: ReadonlyMap<string, string>;
}

/** @throws AppError INVALID_REQUEST, INVALID_CURSOR, UNKNOWN_CHANNEL, UNKNOWN_CHAINCODE, LIMIT_REACHED, LEDGER_UNAVAILABLE. */
export async function createSubscription(
  ports: ManageSubscriptionsPorts,
  { url, channel, types = null, events = null, secrets = [{ id: 'k1' }], from, paused = false }: NewSubscription,
  also: (subscriptionId: string) => Also,
): Promise<ManagedSubscription> {
  const at = timeOf(ports);
  const subscriptionId = ports.newId();
  checkUrl(ports, url);
  eventScope(ports.mappings, { channel, types: types ?? undefined }, 'body');
  const { kept, generated } = keepSecrets(ports, { subscriptionId, given: secrets, before: [], at });
  const subscription: Subscription = {
    subscriptionId,
    ...{ url, channel, types, events, secrets: kept },
    cursor: await cursorAt(ports, channel, from),
    state: paused ? 'paused' : 'active',
    ...{ failingSince: null, attempts: 0, problem: null, deliveredAt: null },
    ...{ createdAt: at, changedAt: at },
  };
  if (!(await ports.subscriptions.insert(subscription, also(subscriptionId))))
    throw new AppError('LIMIT_REACHED', `There are ${MAX_SUBSCRIPTIONS} subscriptions; delete one first.`);
  return { subscription, generated };
}

/** @throws AppError INVALID_REQUEST, UNKNOWN_CHAINCODE, NOT_FOUND. Nothing is changed then. */
export async function changeSubscription(
  ports: ManageSubscriptionsPorts,
  subscriptionId: string,
  { change, also }: { readonly change: SubscriptionChange; readonly also: Also },
): Promise<ManagedSubscription> {
  let generated: ReadonlyMap<string, string> = new Map();
  if (change.url !== undefined) checkUrl(ports, change.url);
  const subscription = await ports.subscriptions.update(subscriptionId, {
    also,
    change(before) {
      const at = timeOf(ports);
      const { url = before.url, types = before.types, events = before.events, secrets: given, paused } = change;
      eventScope(ports.mappings, { channel: before.channel, types: types ?? undefined }, 'body');
      const secrets = given && keepSecrets(ports, { subscriptionId, given, before: before.secrets, at });
      generated = secrets?.generated ?? generated;
      const state = paused === undefined ? before.state : paused ? 'paused' : 'active';
      // A receiver that was repaired is tried at once, and has 72 hours again.
      const anew = state === 'active' ? { failingSince: null, attempts: 0, problem: null } : {};
      return { ...before, ...anew, url, types, events, secrets: secrets?.kept ?? before.secrets, state, changedAt: at };
    },
  });
  if (subscription === undefined) throw noSubscription();
  return { subscription, generated };
}

/** @throws AppError NOT_FOUND. */
export async function findSubscription(
  { subscriptions }: Pick<ManageSubscriptionsPorts, 'subscriptions'>,
  subscriptionId: string,
): Promise<Subscription> {
  const found = await subscriptions.find(subscriptionId);
  if (found === undefined) throw noSubscription();
  return found;
}

/** @throws AppError NOT_FOUND. */
export async function deleteSubscription(
  { subscriptions }: Pick<ManageSubscriptionsPorts, 'subscriptions'>,
  subscriptionId: string,
  also: Also,
): Promise<void> {
  if (!(await subscriptions.delete(subscriptionId, also))) throw noSubscription();
}

const FROM = { in: 'body', pointer: '/from' } as const;

async function cursorAt(
  { source }: ManageSubscriptionsPorts,
  channel: string,
  from: string | undefined,
): Promise<string> {
  if (from === '0') return makeEventCursor(channel, BEGINNING);
  const given = from === undefined ? undefined : readEventCursor(channel, from, FROM);
  const newest = await asked(source.newest(channel));
  if (given !== undefined && !source.reaches(newest, given))
    throw invalidCursor('The channel has no such event: it has fewer than the cursor says.', FROM);
  return makeEventCursor(channel, given ?? newest);
}

function checkUrl({ urlProblem }: ManageSubscriptionsPorts, url: string): void {
  const detail = urlProblem(url);
  if (detail !== undefined) throw refusedMember('INVALID_REQUEST', '/url', detail);
}

const SECRET_BYTES = 32;

function keepSecrets(
  { seal }: ManageSubscriptionsPorts,
  {
    subscriptionId,
    given,
    before,
    at,
  }: {
    readonly subscriptionId: string;
    readonly given: readonly GivenSecret[];
    readonly before: readonly KeptSecret[];
    readonly at: string;
  },
): { readonly kept: KeptSecret[]; readonly generated: ReadonlyMap<string, string> } {
  const generated = new Map<string, string>();
  const kept = given.map(({ id, value }, position): KeptSecret => {
    if (given.findIndex((one) => one.id === id) < position)
      throw refusedMember('INVALID_REQUEST', `/secrets/${position}/id`, 'The id occurs in this list already.');
    const known = before.find((one) => one.id === id);
    if (value === undefined && known !== undefined) return known;
    const text = value ?? `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    if (value === undefined) generated.set(id, text);
    return { id, sealed: seal(text, subscriptionId), createdAt: at };
  });
  return { kept, generated };
}

const timeOf = ({ now }: Pick<ManageSubscriptionsPorts, 'now'>): string => new Date(Math.floor(now())).toISOString();

const noSubscription = () => new AppError('NOT_FOUND', 'There is no such subscription.');
