import type { ChannelLedger } from './channel-ledger.ts';
import { serviceError } from './rpc-error.ts';
import type { CallStatus } from './faults.ts';
import type { Block } from './blocks.ts';
import type { StreamGate } from './stream-gate.ts';

/** The part of a gRPC server stream that is needed to send on it. */
export interface SendingStream {
  readonly destroyed: boolean;
  readonly cancelled: boolean;
  emit(event: 'error', error: Error): unknown;
  end(): unknown;
  on(event: 'cancelled' | 'close', listener: () => void): unknown;
}

interface Sending {
  readonly ledger: ChannelLedger;
  readonly gate: StreamGate;
  /** The number of the first block. */
  readonly from: number;
  /** The number of the last one. */
  readonly to: number;
  readonly send: (block: Block) => void;
  /** After the last one. */
  readonly onLast: () => void;
}

/** Sends the blocks that are there, and each as it comes, until the last one, a cut, or the client's going away. */
export function sendBlocks(stream: SendingStream, { ledger, gate, from, to, send, onLast }: Sending): void {
  let next = from;
  const pump = () => {
    while (!gate.isHeld && next <= to && next < ledger.height) {
      send(ledger.block(next)!);
      next += 1;
    }
    if (next <= to) return;
    stop();
    onLast();
  };
  const cut = (status: CallStatus) => {
    stop();
    stream.emit('error', serviceError(status));
  };
  const stop = () => {
    ledger.off('block', pump);
    gate.off('released', pump);
    gate.off('cut', cut);
  };
  ledger.on('block', pump);
  gate.on('released', pump);
  gate.on('cut', cut);
  stream.on('cancelled', stop);
  stream.on('close', stop);
  pump();
}
