import { resolve } from 'node:path';

/** The folder of the checkout. */
export const workspaceRoot = resolve(import.meta.dirname, '../../..');
