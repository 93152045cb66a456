import { jwkOfPoint, jwksOf, type Jwks } from '@sealgate/envelope';
import { noteSigner, parseVerifierKey } from '@sealgate/merkle';
import { StartError } from '@sealgate/service-host';

/**
 * The keys that checkpoints are checked with, as JWKs: those of this process where it signs, and those that are listed.
 * @throws StartError when a listed key is none.
 */
export function logKeys(config: {
  readonly ledgerSigningKey: string | undefined;
  readonly ledgerVerifierKeys: readonly string[];
}): Jwks {
  const own = config.ledgerSigningKey === undefined ? [] : noteSigner(config.ledgerSigningKey).verifierKeys;
  try {
    return jwksOf(
      [...new Set([...own, ...config.ledgerVerifierKeys])].map((key) =>
        jwkOfPoint(parseVerifierKey(key).point.toString('base64url')),
      ),
    );
  } catch (cause) {
    throw new StartError('LEDGER_VERIFIER_KEYS holds what is no C2SP verifier key.', { cause });
  }
}
