import type { JsonValue } from '@sealgate/json';
import { settleSignatures } from '@sealgate/merkle';
import { checkAuditText, readKeySet, type Report } from '@sealgate/verify/checks';

interface AuditFile {
  readonly name: string;
  readonly text: string;
}

/** Checks an export in this browser, as `sealgate-verify audit` does. Throws UnreadableError for other files. */
export function checkAuditFile(
  exported: AuditFile,
  { keys, earlier }: { readonly keys: unknown; readonly earlier?: AuditFile | undefined },
): Promise<Report> {
  const jwks = readKeySet('The key set', keys as JsonValue);
  return settleSignatures(() => checkAuditText(exported, { jwks, earlier }));
}
