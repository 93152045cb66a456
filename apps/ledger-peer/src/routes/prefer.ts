/**
 * Whether a Prefer header asks not to wait (RFC 7240, section 4.1). Preferences are separated by commas, compared without
 * case, and what stands behind one (a value, parameters) does not matter here; unknown ones are nobody's fault.
 */
export function prefersAsync(prefer: string | undefined): boolean {
  if (prefer === undefined) return false;
  return prefer.split(',').some((preference) => /^[\t ]*respond-async[\t ]*(?:[;=]|$)/i.test(preference));
}
