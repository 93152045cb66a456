import { LedgerUnavailableError, parseChannel } from '@sealgate/ledger-port';
import type { FabricChannel } from './connection-file.ts';

/** Where one of our channels lies. */
export interface ChannelPlace {
  /** Fabric's name. */
  readonly fabricChannel: string;
  /**
   * Stands before every id and type: '' where the Fabric channel is this channel's own, else `<networkId>.<name>/`. A
   * channel's name holds no slash, so no id of one channel can be taken for one of another.
   */
  readonly prefix: string;
}

/** Which Fabric channel holds which of ours: the exact name first, then its network's pattern, then the one for all. */
export class ChannelMap {
  readonly #holders = new Map<string, string>();

  constructor(channels: readonly FabricChannel[]) {
    for (const { name, holds } of channels) for (const pattern of holds) this.#holders.set(pattern, name);
  }

  find(channel: string): ChannelPlace | undefined {
    const exact = this.#holders.get(channel);
    if (exact !== undefined) return { fabricChannel: exact, prefix: '' };
    const parsed = parseChannel(channel);
    if (parsed === undefined) return undefined;
    const shared = this.#holders.get(`${parsed.networkId}.*`) ?? this.#holders.get('*');
    return shared === undefined ? undefined : { fabricChannel: shared, prefix: `${channel}/` };
  }

  /** @throws LedgerUnavailableError where no Fabric channel holds it. */
  of(channel: string): ChannelPlace {
    const place = this.find(channel);
    if (place === undefined) throw new LedgerUnavailableError(`No Fabric channel holds ${channel}.`);
    return place;
  }
}
