export { addressLimiter, clientNetwork } from './address-limiter.ts';
export type { AddressLimiter } from './address-limiter.ts';
export { admissionOf, fullState, rateLimitHeaders, sharedLimits } from './limits.ts';
export type { LimitState, LimitStore, LocalLimits, Policy } from './limits.ts';
export { memoryLimits } from './memory-limits.ts';
export { openSharedLimits } from './open-shared-limits.ts';
export { redisLimits } from './redis-limits.ts';
