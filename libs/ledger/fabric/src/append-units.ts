import {
  type AppendUnit,
  ClaimInFlightError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type UnitClaim,
  type UnitResult,
} from '@sealgate/ledger-port';
import { inSpan } from '@sealgate/observability';
import type { ChannelMap, ChannelPlace } from './channel-map.ts';
import type { ClaimStore, HeldClaim } from './claim-store.ts';
import type { OnSettlement } from './ending-writer.ts';
import type { ContractCall, FabricClient } from './fabric-client.ts';
import { asLedgerError, ClaimTakenError, ContractRefusedError, UnavailableError } from './fabric-errors.ts';
import { conflictOf, receiptsOf, recordsArgument } from './records-contract.ts';

/**
 * Called with every outcome, at least once; late: after its caller got "unknown", or its process is gone. Until the
 * promise has resolved, a process that takes over would call it again. A late unit without effect is reported as a
 * conflict of its first id: another writer was faster.
 */
export type OnResult = (
  result: UnitResult,
  about: { readonly unit: KnownUnit; readonly isLate: boolean },
) => void | Promise<void>;

/** The parts of a unit known to a process that did not send it. */
export type KnownUnit = Pick<AppendUnit, 'network' | 'channel' | 'note' | 'event'>;

interface AppendUnitsOptions {
  readonly client: FabricClient;
  readonly claims: ClaimStore;
  readonly channels: ChannelMap;
  readonly callOf: (place: ChannelPlace, transaction: string, args: readonly string[]) => ContractCall;
  readonly now: () => number;
  readonly answerWithinMs: number;
  readonly onResult: OnResult;
}

/** How long a unit waits for one that holds its claim with another fingerprint. */
const OTHER_CLAIM_WAIT_MS = 250;

/** Appends units as transactions of the contract: one each; the claim is taken together with its journal row. */
export class AppendUnits {
  readonly #options: AppendUnitsOptions;
  /** Running units by claim and fingerprint; settles when the unit has ended. */
  readonly #byClaim = new Map<string, Promise<unknown>>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: AppendUnitsOptions) {
    this.#options = options;
  }

  get depth(): number {
    return this.#running.size;
  }

  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  append(unit: AppendUnit): Promise<UnitResult> {
    const { claim } = unit;
    const result = inSpan({ name: 'ledger append' }, () =>
      claim === undefined ? this.#appendUnclaimed(unit) : this.#appendClaimed(unit, claim),
    );
    this.#running.add(result);
    const done = (): void => void this.#running.delete(result);
    result.then(done, done);
    return result;
  }

  async findConflict(unit: AppendUnit): Promise<string | undefined> {
    const { client, claims, channels, callOf } = this.#options;
    const place = channels.find(unit.channel);
    if (place === undefined) return undefined;
    try {
      if (unit.claim !== undefined && (await claims.find(unit.claim.claim)) !== undefined) return undefined;
      // Evaluated without submitting, the same transaction reports its conflict.
      const call = callOf(place, 'createMany', [recordsArgument(unit.records, place)]);
      await client.evaluate(call, { mayBeOutdated: (answer) => !(answer instanceof ContractRefusedError) });
      return undefined;
    } catch (error) {
      const conflict = error instanceof ContractRefusedError ? conflictOf(error.message, place) : undefined;
      if (conflict === undefined) throw asLedgerError(error);
      return conflict;
    }
  }

  /** Reports the outcome of a transaction of this ledger, sent by this process or another one. */
  reportSettlement: OnSettlement = (settlement, { note: text, isLate }) => {
    const about = readUnitNote(text);
    const place = about === undefined ? undefined : this.#options.channels.find(about.unit.channel);
    if (about === undefined || place === undefined) return undefined;
    const { unit, firstId } = about;
    if (settlement.status === 'committed') {
      const result = resultOf({ ...settlement, note: unit.note }, unit.channel, place);
      return this.#options.onResult(result, { unit, isLate });
    }
    // A waiting caller retries on its own.
    return isLate ? this.#options.onResult({ outcome: 'conflict', id: firstId }, { unit, isLate }) : undefined;
  };

  #endsAt(): number {
    return this.#options.now() + this.#options.answerWithinMs;
  }

  async #appendUnclaimed(unit: AppendUnit): Promise<UnitResult> {
    return this.#reportConflict(unit, await this.#write(unit, this.#endsAt()));
  }

  /** A conflict produces no transaction, so it is reported here. */
  async #reportConflict(unit: AppendUnit, result: UnitResult): Promise<UnitResult> {
    if (result.outcome === 'conflict') await this.#options.onResult(result, { unit, isLate: false });
    return result;
  }

  /** Within a process, units with the same claim run one at a time; across processes the claim's row decides. */
  async #appendClaimed(unit: AppendUnit, claim: UnitClaim): Promise<UnitResult> {
    const endsAtMs = this.#endsAt();
    const key = `${claim.claim.toString('latin1')}${claim.fingerprint}`;
    // The other unit ends within its own deadline, which began earlier.
    for (let other = this.#byClaim.get(key); other !== undefined; other = this.#byClaim.get(key)) await other;
    const result = this.#claimOrReplay(unit, claim, endsAtMs);
    const ended = result.catch(() => undefined).finally(() => this.#byClaim.delete(key));
    this.#byClaim.set(key, ended);
    return result;
  }

  async #claimOrReplay(unit: AppendUnit, claim: UnitClaim, endsAtMs: number): Promise<UnitResult> {
    const { now } = this.#options;
    for (;;) {
      const held = await this.#find(claim);
      if (held !== undefined) {
        const replay = await this.#replay(held, claim, endsAtMs);
        if (replay !== undefined) return replay;
      }
      if (now() >= endsAtMs) throw new LedgerUnavailableError('The claim was not released in time.');
      try {
        const result = await this.#write(unit, endsAtMs);
        // The claim may have been taken meanwhile by the writer of the conflicting record.
        const isTaken = result.outcome === 'conflict' && (await this.#find(claim)) !== undefined;
        if (!isTaken) return await this.#reportConflict(unit, result);
      } catch (error) {
        if (!(error instanceof ClaimTakenError)) throw error;
      }
    }
  }

  #find({ claim }: UnitClaim): Promise<HeldClaim | undefined> {
    return this.#options.claims.find(claim).catch((error: unknown) => {
      throw asLedgerError(error);
    });
  }

  /** Undefined if the claim was released meanwhile: its transaction had no effect. */
  async #replay(held: HeldClaim, { acceptable }: UnitClaim, endsAtMs: number): Promise<UnitResult | undefined> {
    const { client, now } = this.#options;
    const { transactionId, note, records } = held;
    const isSame = acceptable.includes(held.fingerprint);
    if (!held.settled) {
      const leftMs = Math.max(0, endsAtMs - now());
      const waitMs = isSame ? leftMs : Math.min(leftMs, OTHER_CLAIM_WAIT_MS);
      const settlement = await client.settle(transactionId, { waitMs }).catch((error: unknown) => {
        // It is known to be sent; only its outcome could not be asked.
        if (error instanceof UnavailableError) return { status: 'unknown' } as const;
        throw asLedgerError(error);
      });
      if (settlement?.status === 'unknown') throw isSame ? new OutcomeUnknownError(transactionId) : inFlight();
      if (settlement !== undefined && settlement.status !== 'committed') return undefined;
    }
    if (!isSame) return { outcome: 'reused' };
    return { outcome: 'replayed', transactionId, note, records };
  }

  /** @throws ClaimTakenError, and the errors of the port. */
  async #write(unit: AppendUnit, endsAtMs: number): Promise<UnitResult> {
    const { client, channels, callOf, now } = this.#options;
    const { channel, note, claim: wanted } = unit;
    const place = channels.of(channel);
    const claim =
      wanted === undefined
        ? undefined
        : (endorsed: { result: Buffer }) => ({
            claim: wanted.claim,
            fingerprint: wanted.fingerprint,
            channel,
            note,
            receipts: JSON.stringify(receiptsOf(endorsed.result, channel, place)),
          });
    try {
      const call = callOf(place, 'createMany', [recordsArgument(unit.records, place)]);
      const answerWithinMs = Math.max(1, endsAtMs - now());
      const options = { answerWithinMs, note: writeUnitNote(unit), ...(claim === undefined ? {} : { claim }) };
      const committed = await client.submit(call, options);
      return resultOf({ ...committed, note }, channel, place);
    } catch (error) {
      if (error instanceof ClaimTakenError) throw error;
      const conflict = error instanceof ContractRefusedError ? conflictOf(error.message, place) : undefined;
      if (conflict === undefined) throw asLedgerError(error);
      return { outcome: 'conflict', id: conflict };
    }
  }
}

/** The claim is released if the transaction that holds it has no effect. */
function inFlight(): ClaimInFlightError {
  return new ClaimInFlightError('The claim is held by another request that is not settled yet.');
}

function resultOf(
  { transactionId, result, note }: { transactionId: string; result: Buffer; note: string },
  channel: string,
  place: ChannelPlace,
): UnitResult {
  const records = receiptsOf(result, channel, place);
  const outcome = records.every(({ existing }) => existing) ? 'existing' : 'written';
  return { outcome, transactionId, note, records };
}

const KIND = 'sealgate.unit.v1';

/** The journal note of a unit, for reporting its outcome after its caller has left. */
function writeUnitNote({ network, channel, note, event, records }: AppendUnit): string {
  return JSON.stringify([KIND, { network, channel, note, event }, records[0]?.id ?? '']);
}

/** Undefined for a note of another writer. */
function readUnitNote(text: string | undefined): { unit: KnownUnit; firstId: string } | undefined {
  if (text?.startsWith(`["${KIND}",`) !== true) return undefined;
  const [, unit, firstId] = JSON.parse(text) as [string, KnownUnit, string];
  return { unit, firstId };
}
