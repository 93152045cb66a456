import type { Subscription } from './subscription.ts';

/** A subscription that this process delivers, at one version of its settings. */
export interface HeldSubscription {
  readonly subscription: Subscription;
  readonly version: number;
  readonly notBefore: Date | null;
}

/** Moves the row of a subscription, while this process has its lease and nobody has changed it. False: no longer. */
export interface DeliveryStore {
  /** Renews the leases of this process, and takes those that are free. */
  hold(): Promise<HeldSubscription[]>;
  acknowledge(held: HeldSubscription, cursor: string, at: Date | undefined): Promise<boolean>;
  fail(
    held: HeldSubscription,
    failure: { readonly problem: string; readonly attempts: number; readonly since: Date; readonly notBefore: Date },
  ): Promise<boolean>;
  stop(held: HeldSubscription): Promise<boolean>;
  release(): Promise<void>;
  /** How many there are in each state, and how many of the active ones fail. */
  count(): Promise<Readonly<Record<'active' | 'failing' | 'paused' | 'stopped', number>>>;
}
