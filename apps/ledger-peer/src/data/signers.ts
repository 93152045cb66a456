import { hasClaim } from '@sealgate/identity';
import type { FabricConnection } from '@sealgate/ledger-fabric';
import type { Signers } from '../domain/caller.ts';

type Callers = Pick<FabricConnection, 'callers' | 'defaultIdentity'>;

/** Who signs for whom, as the connection file says. */
export function signersOf({
  callers,
  defaultIdentity,
  identities,
}: Callers & Pick<FabricConnection, 'identities'>): Signers {
  const byFamily = new Map(
    callers.flatMap((caller) => ('keyFamily' in caller ? [[caller.keyFamily, caller.identity] as const] : [])),
  );
  const byClaim = callers.filter((caller) => 'claim' in caller);
  return {
    ofKeyFamily: (familyId) => byFamily.get(familyId) ?? defaultIdentity,
    ofToken: (token) =>
      byClaim.find(
        (caller) =>
          token !== undefined && (caller.issuer ?? token.issuer) === token.issuer && hasClaim(token.claims, caller),
      )?.identity ?? defaultIdentity,
    has: (identity) => identities.some(({ name }) => name === identity),
  };
}

/** Families of `callers` that no configured key has: their callers would be signed for as the default, unnoticed. */
export function familiesWithoutKey({ callers }: Pick<Callers, 'callers'>, families: readonly string[]): string[] {
  const known = new Set(families);
  return callers.flatMap((caller) => ('keyFamily' in caller && !known.has(caller.keyFamily) ? [caller.keyFamily] : []));
}
