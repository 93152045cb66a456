import { randomBytes } from 'node:crypto';
import type { BenchContext } from '../bench-context.ts';
import { assetsBody, recordsArgument } from '../bodies.ts';
import type { Gateway } from '../gateway/gateway-process.ts';
import type { DirectClient } from '../servers/direct-client.ts';
import type { LoadPlan } from '../load/load-plan.ts';
import type { DirectKind, DirectPlan } from '../servers/fabric-direct-plan.ts';

/** One round of either client. */
export interface PeerRound {
  readonly measuredMs: number;
  /** Transactions acknowledged in the measured time, from which rates are computed. */
  readonly measured: number;
  /** All acknowledged transactions. */
  readonly succeeded: number;
  readonly refused: number;
  readonly firstProblem: string | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU of the client process: the ledger peer, or the client without HTTP; NaN where it is not reported. */
  readonly cpuMs: number;
}

/** One line of the table. */
export interface PeerRow {
  readonly name: string;
  readonly client: 'peer' | DirectKind;
  readonly assets: number;
  readonly inFlight: number;
  /** The type of all its assets, by which they are counted. */
  readonly type: string;
  /** The part of a round that runs first as warm-up, unmeasured; 0 < warmUp <= 1. */
  readonly warmUp: number;
  /** `share`: of a whole round; 0 < share <= 1. */
  readonly run: (share: number) => Promise<PeerRound>;
  /** Warm-up rounds included. */
  readonly all: PeerRound[];
  readonly rounds: PeerRound[];
}

export interface PeerAddress {
  readonly peer: Gateway;
  readonly key: string;
}

type RowShape = Pick<PeerRow, 'name' | 'assets' | 'inFlight' | 'type' | 'warmUp'>;

/** A round of a number of transactions, limited to those that can be begun in a time; all of them are measured. */
interface CountedRound {
  readonly requests: number;
  readonly sendForMs: number;
}

/** A round of a number of transactions, or of a time. */
type RoundSize = CountedRound | { readonly durationMs: number };

function shareOf(round: RoundSize, share: number): LoadPlan['until'] {
  return 'durationMs' in round ? { durationMs: round.durationMs * share } : countedShareOf(round, share);
}

function countedShareOf({ requests, sendForMs }: CountedRound, share: number): CountedRound {
  return { requests: Math.ceil(requests * share), sendForMs: sendForMs * share };
}

/** The ledger peer over HTTP, each connection with one request in flight; a request is one transaction. */
export function peerRow(
  context: BenchContext,
  { peer, key }: PeerAddress,
  { round, ...shape }: RowShape & { readonly round: RoundSize },
): PeerRow {
  const run = async (share: number): Promise<PeerRound> => {
    const result = await context.generator.run({
      port: peer.port,
      path: '/api/assets',
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': key },
      body: assetsBody(shape.assets, shape.type),
      sendsKey: false,
      keyPrefix: randomBytes(6).toString('hex'),
      connections: shape.inFlight,
      until: shareOf(round, share),
      watch: [{ name: 'server', pid: peer.pid }],
    });
    const refused = Object.values(result.refused).reduce((sum, count) => sum + count, result.unanswered);
    return { ...result, refused, cpuMs: result.usage['server']?.cpuMs ?? Number.NaN };
  };
  return { ...shape, client: 'peer', run, all: [], rounds: [] };
}

interface DirectTarget {
  readonly client: DirectClient;
  readonly plan: Pick<DirectPlan, 'connectionFile' | 'fabricChannel' | 'kind' | 'databaseUrl'>;
  /** Prefix of ids and types, as the ledger peer adds it on a shared channel. */
  readonly prefix: string;
}

/** A client without HTTP, with the same number of transactions in flight. */
export function directRow(
  { client, plan, prefix }: DirectTarget,
  { round, ...shape }: RowShape & { readonly round: CountedRound },
): PeerRow {
  const run = (share: number): Promise<PeerRound> =>
    client.run({
      ...plan,
      inFlight: shape.inFlight,
      ...countedShareOf(round, share),
      arguments: recordsArgument(shape.assets, { type: prefix + shape.type, idPrefix: prefix }),
      keyPrefix: randomBytes(6).toString('hex'),
    });
  return { ...shape, client: plan.kind, run, all: [], rounds: [] };
}
