/**
 * Waits until the event loop has asked the kernel for news once more: whatever had reached a socket of this
 * process before the call (an end, a reset) has been handled when it returns.
 */
export function freshPoll(): Promise<void> {
  // The first immediate may run before the next poll, the second runs after it.
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
