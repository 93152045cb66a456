import { GatewayError } from '@hyperledger/fabric-gateway';
import { common, gateway as protos, peer as peerProtos } from '@hyperledger/fabric-protos';
import type { GatewayPeers, PeerGateway } from './gateway-peers.ts';
import type { Journal } from './journal.ts';

/** A peer of the gateway protocol serves this too. It is executed by that peer itself, which `Evaluate` is not. */
const METHOD = '/protos.Endorser/ProcessProposal';
const OK = 200;
const UNKNOWN = 2;

/** The number of the last block of a channel that this very peer has committed; see `blocksAt`. */
export async function newestBlockAt(peer: PeerGateway, channel: string, deadlineMs: number): Promise<number> {
  return (await blocksAt(peer, channel, deadlineMs)).newest;
}

/**
 * The numbers of the first block of a channel that this very peer has, which is not 0 if it began from a snapshot, and
 * of the last one that it has committed, blocks and state. (A gateway may pass an evaluation on to another peer of its
 * organisation, whose blocks would say nothing about this one.)
 *
 * @throws GatewayError if the peer does not answer, or may not be asked by this identity.
 */
export async function blocksAt(
  peer: PeerGateway,
  channel: string,
  deadlineMs: number,
): Promise<{ readonly first: number; readonly newest: number }> {
  const query = peer.gateway.getNetwork(channel).getContract('qscc');
  const proposal = query.newProposal('GetChainInfo', { arguments: [channel] });
  const signed = protos.ProposedTransaction.deserializeBinary(proposal.getBytes()).getProposal()!;
  // The client's hash is `none`, so its digest is the proposal itself.
  signed.setSignature(peer.identity.sign(proposal.getDigest()));
  const answer = await processProposal(peer, Buffer.from(signed.serializeBinary()), deadlineMs);
  const response = answer.getResponse();
  if (response?.getStatus() !== OK) {
    const message = response?.getMessage() ?? '';
    throw new GatewayError({ code: UNKNOWN, message, details: [], cause: undefined as never });
  }
  const info = common.BlockchainInfo.deserializeBinary(response.getPayload_asU8());
  const snapshot = info.getBootstrappingsnapshotinfo();
  return { first: snapshot === undefined ? 0 : snapshot.getLastblockinsnapshot() + 1, newest: info.getHeight() - 1 };
}

type ProposalResponse = InstanceType<typeof peerProtos.ProposalResponse>;

function processProposal({ client }: PeerGateway, signed: Buffer, deadlineMs: number): Promise<ProposalResponse> {
  const read = (bytes: Buffer) => peerProtos.ProposalResponse.deserializeBinary(bytes);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      METHOD,
      (bytes: Buffer) => bytes,
      read,
      signed,
      { deadline: deadlineMs },
      (error, answer) => {
        if (error === null) resolve(answer!);
        else reject(new GatewayError({ code: error.code, message: error.details, details: [], cause: error }));
      },
    );
  });
}

interface AcknowledgedHeightsOptions {
  readonly journal: Pick<Journal, 'height' | 'raiseHeight'>;
  readonly peers: Pick<GatewayPeers, 'all' | 'inBackground'>;
  /** The newest block that this peer has delivered on the open stream of a channel; undefined without one. */
  readonly deliveredBy: (channel: string, endpoint: string) => number | undefined;
  readonly now: () => number;
}

interface Raising {
  wanted: number;
  raised: number;
  running: Promise<void> | undefined;
}

const LOOK_AGAIN_MS = 150;

/**
 * The highest block of each channel with a write that somebody was told of, shared by all processes through the
 * database of the journal. A peer that has not committed it yet cannot say that something is absent.
 */
export class AcknowledgedHeights {
  readonly #options: AcknowledgedHeightsOptions;
  readonly #raising = new Map<string, Raising>();

  constructor(options: AcknowledgedHeightsOptions) {
    this.#options = options;
  }

  /** Resolves once every process can see it: before that a caller may not be told. One statement a block, not a call. */
  async raise(channel: string, blockNumber: number): Promise<void> {
    const state = this.#raising.get(channel) ?? { wanted: -1, raised: -1, running: undefined };
    this.#raising.set(channel, state);
    state.wanted = Math.max(state.wanted, blockNumber);
    while (state.raised < blockNumber) {
      state.running ??= this.#write(channel, state).finally(() => (state.running = undefined));
      await state.running;
    }
  }

  /**
   * - before: the peer had committed every acknowledged block when it was asked, so its answer counts
   * - now: it has now; asked again, its answer counts
   * - no: it is behind
   *
   * @throws UnavailableError if the height cannot be read, GatewayError if the peer cannot be asked.
   */
  async isReachedBy(
    peer: PeerGateway,
    { channel, delivered, deadlineMs }: { channel: string; delivered: number | undefined; deadlineMs: number },
  ): Promise<'before' | 'now' | 'no'> {
    const { journal, peers } = this.#options;
    const height = await journal.height(channel);
    if (height === undefined || (delivered !== undefined && delivered >= height)) return 'before';
    // A caller's identity need not be allowed to ask.
    return (await newestBlockAt(peers.inBackground(peer), channel, deadlineMs)) >= height ? 'now' : 'no';
  }

  deliveredBy(channel: string, endpoint: string): number | undefined {
    return this.#options.deliveredBy(channel, endpoint);
  }

  /** True if every peer that answers stays behind until `untilMs`: a peer is a moment behind after each block. */
  async areAllBehind(channel: string, untilMs: number): Promise<boolean> {
    const { journal, peers, now } = this.#options;
    const height = await journal.height(channel).catch(() => undefined);
    if (height === undefined) return false;
    for (;;) {
      const asked = peers.all().map((peer) => newestBlockAt(peer, channel, untilMs).catch(() => undefined));
      const known = (await Promise.all(asked)).filter((block) => block !== undefined);
      if (known.length === 0 || known.some((block) => block >= height)) return false;
      if (now() + LOOK_AGAIN_MS >= untilMs) return true;
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
  }

  async #write(channel: string, state: Raising): Promise<void> {
    const { wanted } = state;
    await this.#options.journal.raiseHeight(channel, wanted);
    state.raised = Math.max(state.raised, wanted);
  }
}
