import { serviceError } from './rpc-error.ts';
import type { CallFault } from './faults.ts';
import type { SendingStream } from './send-blocks.ts';

/** Lets a fault strike a stream at its opening, else opens it. A dropped one stays open, and nothing comes. */
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
