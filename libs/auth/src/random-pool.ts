import { randomFillSync } from 'node:crypto';

/** Random bytes cut from blocks: one call into the system's generator per 64 KiB instead of one per salt. */
export function randomPool(
  fill: (block: Buffer) => Buffer = randomFillSync,
  blockBytes = 65_536,
): (bytes: number) => Buffer {
  let block: Buffer = Buffer.alloc(0);
  let at = 0;
  return (bytes) => {
    if (at + bytes > block.length) {
      block = fill(Buffer.allocUnsafeSlow(blockBytes));
      at = 0;
    }
    at += bytes;
    return block.subarray(at - bytes, at);
  };
}
