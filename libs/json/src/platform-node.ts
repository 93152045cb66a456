/**
 * Platform functions for this library and those built on it. This is the Node version; the `browser` condition of
 * package.json selects `platform-browser.ts`. Bytes are Node's Buffer here, at full speed.
 */
export { Buffer as Bytes, isUtf8 } from 'node:buffer';
export { hash } from 'node:crypto';
