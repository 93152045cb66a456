export { claimOf, type Claim, type ClaimOptions } from './claim.ts';
export { parseIdempotencyKey } from './claim.ts';
export { InFlight, type InFlightOptions, type StartTimer } from './in-flight.ts';
