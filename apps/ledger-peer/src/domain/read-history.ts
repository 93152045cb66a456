import { AppError } from '@sealgate/errors';
import { historyOf } from './mapping.ts';
import { asked, NO_ASSET, targetOf, type ReadAssetsPorts } from './read-assets.ts';

const NO_HISTORY = 'For this type no history is mapped.';

/**
 * The changes of an asset as its contract lists them, as JSON text. Without a type that of the only mapping with a
 * history is read.
 * @throws AppError as `asked`, NOT_FOUND, UNKNOWN_CHAINCODE, INVALID_REQUEST.
 */
export async function readHistory(
  { ledger, mappings }: ReadAssetsPorts,
  id: string,
  type: string | undefined,
): Promise<string> {
  const targets = type === undefined ? mappings.targets : [targetOf(mappings, type)];
  const [target, another] = targets.filter((one) => historyOf(one) !== undefined);
  if (target === undefined || ledger.history === undefined)
    throw new AppError('UNKNOWN_CHAINCODE', type === undefined ? 'No history is mapped.' : NO_HISTORY);
  if (another !== undefined) {
    const detail = 'Several types have a history: name one.';
    throw new AppError('INVALID_REQUEST', detail, { faults: [{ in: 'query', pointer: '/type', detail }] });
  }
  const changes = await asked(ledger.history(target, id));
  if (changes === undefined) throw new AppError('NOT_FOUND', NO_ASSET);
  return `{"id":${JSON.stringify(id)},"history":${changes}}`;
}
