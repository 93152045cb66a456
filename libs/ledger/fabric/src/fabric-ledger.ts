import type { ProvedOnFabric } from '@sealgate/envelope';
import type { AuditReport, Ledger, StoredRecord } from '@sealgate/ledger-port';
import type { Database } from '@sealgate/storage';
import { AppendUnits, type OnResult } from './append-units.ts';
import { auditRecords } from './audit-records.ts';
import { ChannelMap, type ChannelPlace } from './channel-map.ts';
import { ClaimStore } from './claim-store.ts';
import type { FabricChannel } from './connection-file.ts';
import type { OnSettlement } from './ending-writer.ts';
import type { ContractCall, FabricClient, FabricHealth } from './fabric-client.ts';
import { asLedgerError, ContractRefusedError } from './fabric-errors.ts';
import { proveFabricRecord, type ProvingNetwork } from './record-proof.ts';
import { isImpossible, storedRecordOf, type ContractRecord } from './records-contract.ts';

export interface FabricLedgerOptions {
  readonly client: FabricClient;
  /** Stores the claims; the same database and schema as the client's journal. */
  readonly sql: Database;
  readonly schema: string;
  /** Those of the connection: which Fabric channel holds which of ours. */
  readonly channels: readonly FabricChannel[];
  readonly now: () => number;
  /** Maximum wait of a caller of append; default 10 s. */
  readonly answerWithinMs?: number;
  readonly onResult?: OnResult;
}

/** The port over our own contract, with the same hooks as the embedded ledger. */
export interface FabricLedger extends Ledger {
  health(): Promise<FabricHealth>;
  /** @throws LedgerUnavailableError if no Fabric channel of the connection holds it. */
  openChannel(network: string, channel: string): Promise<void>;
  /** Pass it to the client, so that `onResult` hears of transactions; those of others are ignored. */
  readonly onSettlement: OnSettlement;
  /** Units queued or being written. */
  readonly depth: number;
  /** Waits for every accepted unit. */
  drain(): Promise<void>;
}

/** The name of `apps/ledger-chaincode` on every Fabric channel; its default contract is called. */
const CHAINCODE = 'records';
const ANSWER_WITHIN_MS = 10_000;
const PAGE_MAX = 1000;

/** The ledger on Fabric: the contract of `apps/ledger-chaincode` behind the port. See the README. */
export function fabricLedger(options: FabricLedgerOptions): FabricLedger {
  const { client, sql, schema } = options;
  const channels = new ChannelMap(options.channels);
  const callOf = ({ fabricChannel }: ChannelPlace, transaction: string, args: readonly string[]) => ({
    channel: fabricChannel,
    chaincode: CHAINCODE,
    transaction,
    args,
  });
  /** A record never changes, so what is found counts. That it is absent, and a list, may be outdated. */
  const ask = (place: ChannelPlace, transaction: string, args: readonly string[]): Promise<Buffer> => {
    const mayBeOutdated = (answer: Buffer | ContractRefusedError): boolean =>
      transaction !== 'read' || answer instanceof ContractRefusedError || answer.length === 0;
    return client.evaluate(callOf(place, transaction, args), { mayBeOutdated }).catch((error: unknown) => {
      throw asLedgerError(error);
    });
  };
  /** Undefined if the id or type is invalid for the contract. */
  const askFor = (...[place, transaction, args]: Parameters<typeof ask>): Promise<Buffer | undefined> =>
    ask(place, transaction, args).catch((error: unknown) => {
      if (isImpossible(error)) return undefined;
      throw error;
    });
  /** Reads of an absent record, one for each Fabric channel that holds any of ours. */
  const probes: ContractCall[] = options.channels
    .filter(({ holds }) => holds.length > 0)
    .map(({ name }) => ({ channel: name, chaincode: CHAINCODE, transaction: 'read', args: ['health'] }));
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
    onSettlement: (settlement, about) => units.reportSettlement(settlement, about),
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
    prove: (channel, id) => provedIn({ client, channels }, channel, id),
    // Fabric has no public log.
    checkpoint: () => Promise.resolve(undefined),
    audit: (channel, signal): Promise<AuditReport> => auditRecords({ channels, ask }, channel, signal),
    health: () => client.health(probes),
  };
}

async function provedIn(
  network: ProvingNetwork & { readonly channels: ChannelMap },
  channel: string,
  id: string,
): Promise<ProvedOnFabric | undefined> {
  if (network.channels.find(channel) === undefined) return undefined;
  try {
    const proved = await proveFabricRecord(network, { channel, chaincode: CHAINCODE, id });
    return proved && { receipt: proved.receipt, proof: proved.proof };
  } catch (error) {
    if (isImpossible(error)) return undefined;
    throw asLedgerError(error);
  }
}
