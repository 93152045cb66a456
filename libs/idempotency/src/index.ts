export { claimOf, InFlight, parseIdempotencyKey, type Claim } from './claim.ts';
