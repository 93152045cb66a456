import type { Schemas } from '@sealgate/client';
import { formatNumber } from '../../shell/formats.ts';
import * as texts from './texts.ts';

type Lost = Schemas['ingestGatewayAdmin']['ChannelLoss']['lost'][number];

/** The lost entries of one log: `Entries 2 to 3 of epoch 1`. */
export function lostInWords({ epoch, lostFrom, lostUntil }: Pick<Lost, 'epoch' | 'lostFrom' | 'lostUntil'>): string {
  const last = lostUntil - 1;
  const which =
    last === lostFrom
      ? texts.entryAt(formatNumber(lostFrom))
      : texts.entriesTo(formatNumber(lostFrom), formatNumber(last));
  return epoch === 0 ? texts.lostOfTheFirstLog(which) : texts.lostOfEpoch(which, epoch);
}
