import { LedgerUnavailableError, parseChannel } from '@sealgate/ledger-port';
import type { FabricChannel } from './connection-file.ts';

/** Where one of our channels is stored. */
export interface ChannelPlace {
  /** Fabric's name. */
  readonly fabricChannel: string;
  /**
   * Prefix of every id and type: '' if the Fabric channel belongs to this channel alone, else `<networkId>.<name>/`.
   * Channel names contain no slash, so ids of different channels cannot collide.
   */
  readonly prefix: string;
}

/** Maps our channels to Fabric channels: the exact name first, then its network's pattern, then the catch-all. */
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

  /** @throws LedgerUnavailableError if no Fabric channel holds it. */
  of(channel: string): ChannelPlace {
    const place = this.find(channel);
    if (place === undefined) throw new LedgerUnavailableError(`No Fabric channel holds ${channel}.`);
    return place;
  }
}
