export { claimOf, type Claim, type ClaimOptions } from './claim.ts';
export { parseIdempotencyKey } from './parse-idempotency-key.ts';
export { InFlight, type InFlightOptions, type StartTimer } from './in-flight.ts';
