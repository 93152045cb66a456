import { AppError } from '@sealgate/errors';
import { parseStrict } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { UnreadableError } from './unreadable-error.ts';

/** Parses strict JSON; a lax parser could read other content than the one that was hashed. Throws UnreadableError. */
export function parseJson(bytes: Uint8Array, name: string): JsonValue {
  try {
    return parseStrict(bytes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const pointer = error.faults[0]?.pointer ?? '';
    throw new UnreadableError(
      `${name} is not JSON as the ledger takes it: ${error.message} (${error.code} at #${pointer})`,
    );
  }
}
