/**
 * How Node is started for a service: `node ${NODE_OPTIONS} main.js`. Left alone, V8 lets the heap grow with the memory of
 * the machine, and what a batch of records leaves behind is collected late; bounded, a service needs half the memory and
 * is no slower.
 */
export const NODE_OPTIONS: readonly string[] = ['--max-old-space-size=160', '--max-semi-space-size=32'];
