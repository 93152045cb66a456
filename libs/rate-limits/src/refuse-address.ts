import { AppError } from '@sealgate/errors';
import type { AddressLimiter } from './address-limiter.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

/**
 * Counts a failed authentication against its address; the refusal that takes the place of the 401, where there is one.
 * @param malformed no key could have this form, so that it was refused without I/O.
 */
export async function refuseAddress(
  addresses: AddressLimiter,
  { clientAddress }: { readonly clientAddress: string },
  malformed: boolean,
): Promise<AppError | undefined> {
  const state = await addresses.failedAuthentication(clientAddress, { malformed });
  if (state.admitted) return undefined;
  const options = { retryAfterSeconds: state.retryAfterSeconds, headers: { ...rateLimitHeaders(state) } };
  return new AppError('RATE_LIMITED', 'Too many failed authentications from this address.', options);
}
