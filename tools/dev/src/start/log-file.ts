import { copyFileSync, openSync, statSync, truncateSync } from 'node:fs';
import { explainFileError } from '@sealgate/local-services';

const logMaxBytes = 64 * 1024 * 1024;

/** Opens a log to be written at its end, by nobody else to be read. It is cut first where it has grown too long. */
export function openLog(file: string): number {
  try {
    cutLog(file);
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/**
 * Cuts a log that has passed 64 MiB; one older part is kept. Whoever writes it appends, so after a cut the next line goes
 * to the new end. What is written during the copy may be lost.
 */
export function cutLog(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= logMaxBytes) return;
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}
