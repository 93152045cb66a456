export { claimOf, parseIdempotencyKey, type Claim } from './claim.ts';
export { InFlight } from './in-flight.ts';
