import type { AppendUnit, AuditReport, Ledger, StoredRecord, UnitResult } from '@sealgate/ledger-port';
import type { Database } from '@sealgate/storage';
import { AppendUnits } from './append-units.ts';
import { auditRecords } from './audit-records.ts';
import { ChannelMap, type ChannelPlace } from './channel-map.ts';
import { ClaimStore } from './claim-store.ts';
import type { FabricChannel } from './connection-file.ts';
import type { ContractCall } from './contract-call.ts';
import type { OnSettlement } from './ending-writer.ts';
import type { FabricClient, FabricHealth } from './fabric-client.ts';
import { asLedgerError } from './ledger-problem.ts';
import { isImpossible, storedRecordOf, type ContractRecord } from './records-contract.ts';

export interface FabricLedgerOptions {
  readonly client: FabricClient;
  /** Where the claims are; the same database and schema as the client's journal. */
  readonly sql: Database;
  readonly schema: string;
  /** Those of the connection: which Fabric channel holds which of ours. */
  readonly channels: readonly FabricChannel[];
  /** Default `records`. */
  readonly chaincode?: string;
  /** Default: the chaincode's default contract. */
  readonly contract?: string;
  readonly now: () => number;
  /** How long a caller of append waits; default 10 s. */
  readonly answerWithinMs?: number;
  readonly onResult?: OnResult;
}

/** The unit as far as it is known when its process may be another one by now. */
export type KnownUnit = Pick<AppendUnit, 'network' | 'channel' | 'note'>;

/**
 * Told of every unit whose outcome became known, at least once; late: after its caller was told "unknown", or was left
 * behind by a process that is gone. Until the promise has resolved, a process that takes over would tell it again. A late
 * unit that turned out to be without effect is told as a conflict of its first id: somebody else was faster.
 */
export type OnResult = (
  result: UnitResult,
  about: { readonly unit: KnownUnit; readonly isLate: boolean },
) => void | Promise<void>;

/** The port over our own contract, and the same hooks as the embedded ledger has. */
export interface FabricLedger extends Ledger {
  health(): Promise<FabricHealth>;
  /** @throws LedgerUnavailableError where the connection holds no such channel. */
  openChannel(network: string, channel: string): Promise<void>;
  /** To be given to the client, which is where `onResult` learns of transactions; what is not this ledger's is left alone. */
  readonly onSettlement: OnSettlement;
  /** Units that wait or are under way. */
  readonly depth: number;
  /** Waits for every unit that was taken. */
  drain(): Promise<void>;
}

const ANSWER_WITHIN_MS = 10_000;
const PAGE_MAX = 1000;

/** The ledger on Fabric: the contract of `apps/ledger-chaincode` behind the port. See the README. */
export function fabricLedger(options: FabricLedgerOptions): FabricLedger {
  const { client, sql, schema, contract } = options;
  const channels = new ChannelMap(options.channels);
  const chaincode = options.chaincode ?? 'records';
  const callOf = ({ fabricChannel }: ChannelPlace, transaction: string, args: readonly string[]) => ({
    channel: fabricChannel,
    chaincode,
    ...(contract === undefined ? {} : { contract }),
    transaction,
    args,
  });
  const ask = (place: ChannelPlace, transaction: string, args: readonly string[]): Promise<Buffer> =>
    client.evaluate(callOf(place, transaction, args)).catch((error: unknown) => {
      throw asLedgerError(error);
    });
  /** Undefined where the contract takes no such id or type. */
  const askFor = (...[place, transaction, args]: Parameters<typeof ask>): Promise<Buffer | undefined> =>
    ask(place, transaction, args).catch((error: unknown) => {
      if (isImpossible(error)) return undefined;
      throw error;
    });
  /** A record that is not there, in each Fabric channel that holds any of ours. */
  const probes: ContractCall[] = options.channels
    .filter(({ holds }) => holds.length > 0)
    .map(({ name }) => ({
      channel: name,
      chaincode,
      ...(contract === undefined ? {} : { contract }),
      transaction: 'read',
      args: ['health'],
    }));
  const units = new AppendUnits({
    client,
    claims: new ClaimStore(sql, schema),
    channels,
    callOf,
    now: options.now,
    answerWithinMs: options.answerWithinMs ?? ANSWER_WITHIN_MS,
    onResult: options.onResult ?? (() => undefined),
  });
  return {
    get depth() {
      return units.depth;
    },
    append: (unit) => units.append(unit),
    findConflict: (unit) => units.findConflict(unit),
    onSettlement: (settlement, about) => units.tellSettlement(settlement, about),
    drain: () => units.drained(),
    async openChannel(_network, channel) {
      channels.of(channel);
    },
    async read(channel, id) {
      const place = channels.find(channel);
      if (place === undefined) return undefined;
      const answer = await askFor(place, 'read', [place.prefix + id]);
      if (answer === undefined || answer.length === 0) return undefined;
      return storedRecordOf(JSON.parse(answer.toString('utf8')) as ContractRecord, channel, place);
    },
    async query({ channel, type, afterId, limit }) {
      const place = channels.find(channel);
      if (place === undefined) return [];
      const found: StoredRecord[] = [];
      let bookmark = afterId === '' ? '' : place.prefix + afterId;
      do {
        const pageSize = Math.min(limit - found.length, PAGE_MAX);
        const answer = await askFor(place, 'queryByType', [place.prefix + type, String(pageSize), bookmark]);
        if (answer === undefined) return [];
        const page = JSON.parse(answer.toString('utf8')) as { records: ContractRecord[]; bookmark: string };
        found.push(...page.records.map((record) => storedRecordOf(record, channel, place)));
        bookmark = page.bookmark;
      } while (bookmark !== '' && found.length < limit);
      return found;
    },
    // There is no public log on Fabric: what outsiders check is the channel itself.
    prove: () => Promise.resolve(undefined),
    checkpoint: () => Promise.resolve(undefined),
    audit: (channel, signal): Promise<AuditReport> => auditRecords({ channels, ask }, channel, signal),
    health: () => client.health(probes),
  };
}
