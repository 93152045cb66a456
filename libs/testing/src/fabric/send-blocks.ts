import { EventEmitter } from 'node:events';
import type { Block } from './blocks.ts';
import type { ChannelLedger } from './channel-ledger.ts';
import type { CallFault, CallStatus } from './faults.ts';
import { serviceError } from './rpc-error.ts';

/** The used part of a gRPC server stream. */
interface SendingStream {
  readonly destroyed: boolean;
  readonly cancelled: boolean;
  emit(event: 'error', error: Error): unknown;
  end(): unknown;
  on(event: 'cancelled' | 'close', listener: () => void): unknown;
}

interface Sending {
  readonly ledger: ChannelLedger;
  readonly gate: StreamGate;
  /** First block number. */
  readonly from: number;
  /** Last block number. */
  readonly to: number;
  readonly send: (block: Block) => void;
  /** Called after the last block. */
  readonly onLast: () => void;
}

/** Sends existing blocks, then each new one, until the last one, a cut, or the client disconnects. */
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

/** Applies a fault when a stream is opened, else opens it. A dropped stream stays open and silent. */
export function struckStream(stream: SendingStream, fault: CallFault | undefined, open: () => void): void {
  if (fault?.drop !== undefined) return;
  const status = fault?.status ?? fault?.statusAfter;
  const proceed = () => {
    if (stream.cancelled || stream.destroyed) return;
    if (status === undefined) open();
    else stream.emit('error', serviceError(status));
  };
  if (fault?.delayMs === undefined) proceed();
  else setTimeout(proceed, fault.delayMs).unref();
}

/** Lets a test hold, release or cut all block and event streams. */
export class StreamGate extends EventEmitter<{ released: []; cut: [CallStatus] }> {
  #held = false;

  constructor() {
    super();
    this.setMaxListeners(0);
  }

  get isHeld(): boolean {
    return this.#held;
  }

  /** Streams stay open and silent. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.emit('released');
  }

  /** Ends every open stream. */
  cut(status: CallStatus): void {
    this.emit('cut', status);
  }
}
