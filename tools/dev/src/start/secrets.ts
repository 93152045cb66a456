import { hash, randomBytes } from 'node:crypto';
import { generateNoteKey } from '@sealgate/merkle';
import type { DataFolder } from './data-folder.ts';
import { readJsonFile, writeJsonFile, writePublicFile } from './json-file.ts';
import { UserError } from './user-error.ts';

/** The name that the ledger of a local installation signs its checkpoints with. */
export const ledgerOrigin = 'localhost/sealgate';

export interface Secrets {
  /** Of all admin listeners. */
  readonly adminToken: string;
  readonly ledger: { readonly signingKey: string; readonly verifierKey: string };
  /** The secret of that name, made the first time it is asked for. */
  secret(name: string): string;
  /** What was remembered under that name before. */
  recall(name: string): string | undefined;
  remember(name: string, value: string): void;
}

const makeSecret = (): string => randomBytes(32).toString('base64url');

/** What was made on the first start is used ever after: else nothing that it sealed or hashed could be read again. */
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
      throw new UserError(`${file} is broken. Restore it, or start with --fresh, which forgets all data.`);
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

/** Lower hex, as the admin listeners are configured with it. */
export const tokenHash = (token: string): string => hash('sha256', token, 'hex');
