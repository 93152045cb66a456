import { AppError, type Fault } from '@sealgate/errors';
import { sha256 } from '@sealgate/json';

/** A place in the events of a channel: after the event with this number, or before the first one (block -1). */
export interface EventPosition {
  readonly block: number;
  /** Within the block. */
  readonly index: number;
}

/** Before the first event of a channel. */
export const BEGINNING: EventPosition = { block: -1, index: 0 };

/** After all events of a block. */
export const END_OF_BLOCK = 0xffff_ffff;

const BLOCK_BYTES = 6;
const INDEX_BYTES = 4;
const POSITION_BYTES = BLOCK_BYTES + INDEX_BYTES;
const CHECK_BYTES = 8;
const CURSOR = /^[A-Za-z0-9_-]{24}$/;

/**
 * 24 characters: the position and a checksum that binds it to the channel. It names a place and gives no right, so it is
 * not signed: a consumer resumes with it years later, whatever became of the secrets of the service.
 */
export function makeEventCursor(channel: string, { block, index }: EventPosition): string {
  const bytes = Buffer.alloc(POSITION_BYTES);
  bytes.writeUIntBE(block + 1, 0, BLOCK_BYTES);
  bytes.writeUInt32BE(index, BLOCK_BYTES);
  return Buffer.concat([bytes, checkOf(channel, bytes)]).toString('base64url');
}

/** @throws AppError INVALID_CURSOR with this fault's place, for every defect alike. */
export function readEventCursor(channel: string, cursor: string, place: Pick<Fault, 'in' | 'pointer'>): EventPosition {
  const bytes = Buffer.from(CURSOR.test(cursor) ? cursor : '', 'base64url');
  const position = bytes.subarray(0, POSITION_BYTES);
  if (bytes.length === 0 || !checkOf(channel, position).equals(bytes.subarray(POSITION_BYTES)))
    throw invalidCursor('The cursor does not belong to the events of this channel.', place);
  return { block: position.readUIntBE(0, BLOCK_BYTES) - 1, index: position.readUInt32BE(BLOCK_BYTES) };
}

export function invalidCursor(detail: string, place: Pick<Fault, 'in' | 'pointer'>): AppError {
  return new AppError('INVALID_CURSOR', detail, { faults: [{ ...place, detail }] });
}

const checkOf = (channel: string, position: Buffer): Buffer =>
  sha256(Buffer.concat([Buffer.from(`events v1\0${channel}\0`), position])).subarray(0, CHECK_BYTES);
