import { EventEmitter } from 'node:events';
import type { CallStatus } from './faults.ts';

/** What a test does to all block and event streams at once. */
export class StreamGate extends EventEmitter<{ released: []; cut: [CallStatus] }> {
  #held = false;

  constructor() {
    super();
    this.setMaxListeners(0);
  }

  get isHeld(): boolean {
    return this.#held;
  }

  /** Streams stay open, and nothing comes. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.emit('released');
  }

  /** Ends every stream that is open now. */
  cut(status: CallStatus): void {
    this.emit('cut', status);
  }
}
