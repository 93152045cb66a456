import type { Schemas } from '@sealgate/client';
import { formatNumber } from '../../shell/formats.ts';

type Lost = Schemas['ingestGatewayAdmin']['ChannelLoss']['lost'][number];

/** The lost entries of one log: `Entries 2 to 3 of epoch 1`. */
export function lostInWords({ epoch, lostFrom, lostUntil }: Pick<Lost, 'epoch' | 'lostFrom' | 'lostUntil'>): string {
  const last = lostUntil - 1;
  const which =
    last === lostFrom
      ? `Entry ${formatNumber(lostFrom)}`
      : `Entries ${formatNumber(lostFrom)} to ${formatNumber(last)}`;
  return epoch === 0 ? `${which} of the first log` : `${which} of epoch ${epoch}`;
}
