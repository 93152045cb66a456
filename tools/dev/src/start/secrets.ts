import { hash, randomBytes } from 'node:crypto';
import { generateNoteKey } from '@sealgate/merkle';
import type { DataFolder } from './data-folder.ts';
import { readJsonFile, writeJsonFile, writePublicFile } from './json-file.ts';
import { UserError } from './user-error.ts';

/** The ledger origin of a local installation. */
export const ledgerOrigin = 'localhost/sealgate';

export interface Secrets {
  /** The token of all admin listeners. */
  readonly adminToken: string;
  readonly ledger: { readonly signingKey: string; readonly verifierKey: string };
  /** The secret of that name, generated on first use. */
  secret(name: string): string;
  /** The value stored under that name before. */
  recall(name: string): string | undefined;
  remember(name: string, value: string): void;
}

const makeSecret = (): string => randomBytes(32).toString('base64url');

/**
 * Secrets are generated at the first start and then kept: otherwise nothing sealed or hashed with them could be read.
 */
export function openSecrets(data: DataFolder): Secrets {
  const kept = new Map(readKept(data.secretsFile));
  const save = (): void => writeJsonFile(data.secretsFile, Object.fromEntries(kept));
  const remember = (name: string, value: string): void => {
    kept.set(name, value);
    save();
  };
  const secret = (name: string): string => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const made = makeSecret();
    remember(name, made);
    return made;
  };
  const ledger = ledgerKey(kept, save);
  writePublicFile(data.verifierKeyFile, `${ledger.verifierKey}\n`);
  return {
    adminToken: secret('adminToken'),
    ledger,
    secret,
    recall: (name) => kept.get(name),
    remember,
  };
}

function readKept(file: string): [string, string][] {
  return Object.entries(readJsonFile(file) ?? {}).map(([name, value]) => {
    if (typeof value !== 'string') {
      throw new UserError(`${file} is broken. Restore it, or start with --fresh, which removes all data.`);
    }
    return [name, value];
  });
}

function ledgerKey(kept: Map<string, string>, save: () => void): Secrets['ledger'] {
  const signingKey = kept.get('ledgerSigningKey');
  const verifierKey = kept.get('ledgerVerifierKey');
  if (signingKey !== undefined && verifierKey !== undefined) return { signingKey, verifierKey };
  const made = generateNoteKey(ledgerOrigin);
  kept.set('ledgerSigningKey', made.privateKey);
  kept.set('ledgerVerifierKey', made.verifierKey);
  save();
  return { signingKey: made.privateKey, verifierKey: made.verifierKey };
}

/** Lower-case hex, the format in the configuration of the admin listeners. */
export const tokenHash = (token: string): string => hash('sha256', token, 'hex');
