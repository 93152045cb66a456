import { Type, type Static, type TObject } from '@sinclair/typebox';
import type { IdentitySource } from './identity-files.ts';

const closed = { additionalProperties: false };
const path = Type.Optional(Type.String({ minLength: 1 }));
const name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$' });
const text = Type.String({ minLength: 1, maxLength: 200 });

const source = {
  mspId: Type.Optional(text),
  /** PEM, of P-256 or P-384: both, or `mspFolder`. */
  certFile: path,
  keyFile: path,
  /** With `signcerts` and `keystore`, as Fabric's tools write them. */
  mspFolder: path,
  /** Holds the passphrase of an encrypted key. */
  keyPassphraseFile: path,
};

const Caller = Type.Object(
  {
    identity: name,
    /** The family of API keys, or `claim` and `value`. */
    keyFamily: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,62}$' })),
    /** The name of a claim of an access token, or an RFC 6901 pointer if it begins with `/`. */
    claim: Type.Optional(text),
    /** The value of the claim, or an element if it is a list. */
    value: Type.Optional(text),
    /** Restricts the claim to tokens of this issuer. */
    issuer: Type.Optional(text),
  },
  closed,
);

/** Members of a connection file that say who signs: a single identity, or several and who signs as which. */
export const identityMembers = {
  ...source,
  identities: Type.Optional(Type.Array(Type.Object({ name, ...source }, closed), { minItems: 1, maxItems: 100 })),
  /** Signs for callers without an entry in `callers`; null: they are refused. */
  default: Type.Optional(Type.Unsafe<string | null>({ type: 'string', nullable: true })),
  callers: Type.Optional(Type.Array(Caller, { maxItems: 1000 })),
  /** Names of identities that were removed on purpose: what was to be signed as them fails. */
  retired: Type.Optional(Type.Array(name, { maxItems: 1000 })),
} as const;

type IdentityContent = Static<TObject<typeof identityMembers>>;
type Source = Pick<IdentityContent, keyof typeof source>;
type CallerEntry = Static<typeof Caller>;

/** Who signs as an identity: holders of keys of a family, or of access tokens with a claim. */
export type FabricCaller = { readonly identity: string } & (
  | { readonly keyFamily: string }
  | { readonly claim: string; readonly value: string; readonly issuer: string | undefined }
);

/** The name of the identity of a file that has a single one. */
export const ONLY_IDENTITY = 'default';

/** All faults of these members, whose shape is valid. */
export function identityFaults(file: IdentityContent): string[] {
  const { identities, callers, retired = [] } = file;
  if (identities === undefined) {
    return [
      ...retiredFaults(retired, [ONLY_IDENTITY]),
      ...sourceFaults(file, 'the file'),
      ...(file.mspId === undefined ? ["the file must have required property 'mspId'"] : []),
      ...(file.default === undefined ? [] : ['the file has default, and no identities']),
      ...(callers === undefined ? [] : ['the file has callers, and no identities']),
    ];
  }
  const names = identities.map((identity) => identity.name);
  return [
    ...(hasFiles(file)
      ? ['the file has identities, so certFile, keyFile, mspFolder and keyPassphraseFile are theirs']
      : []),
    ...identities.flatMap((identity, position) => [
      ...(names.indexOf(identity.name) < position ? [`/identities/${position}/name is there twice`] : []),
      ...sourceFaults(identity, `/identities/${position}`),
      ...((identity.mspId ?? file.mspId) === undefined
        ? [`/identities/${position} needs mspId, its own or that of the file`]
        : []),
    ]),
    ...defaultFaults(file.default, names),
    ...callerFaults(callers ?? [], names),
    ...retiredFaults(retired, names),
  ];
}

function sourceFaults({ certFile, keyFile, mspFolder }: Source, place: string): string[] {
  const files = [certFile, keyFile].filter((file) => file !== undefined).length;
  const isOne = mspFolder === undefined ? files === 2 : files === 0;
  return isOne ? [] : [`${place} needs either certFile and keyFile, or mspFolder`];
}

const hasFiles = ({ certFile, keyFile, mspFolder, keyPassphraseFile }: Source): boolean =>
  [certFile, keyFile, mspFolder, keyPassphraseFile].some((file) => file !== undefined);

function defaultFaults(fallback: string | null | undefined, names: readonly string[]): string[] {
  if (fallback === undefined) return ['the file has identities, so it needs default: the name of one, or null'];
  return fallback === null || names.includes(fallback) ? [] : ['/default names none of the identities'];
}

const retiredFaults = (retired: readonly string[], names: readonly string[]): string[] =>
  retired.flatMap((one, position) => (names.includes(one) ? [`/retired/${position} is one of the identities`] : []));

function callerFaults(callers: readonly CallerEntry[], names: readonly string[]): string[] {
  const known = new Set<string>();
  return callers.flatMap((caller, position) => {
    const place = `/callers/${position}`;
    const who = whoOf(caller);
    const isTwice = known.has(who);
    known.add(who);
    return [
      ...(names.includes(caller.identity) ? [] : [`${place}/identity names none of the identities`]),
      ...(isCaller(caller) ? [] : [`${place} needs either keyFamily, or claim and value`]),
      ...(isTwice ? [`${place} is there twice`] : []),
    ];
  });
}

const isCaller = ({ keyFamily, claim, value, issuer }: CallerEntry): boolean =>
  keyFamily === undefined
    ? claim !== undefined && value !== undefined
    : [claim, value, issuer].every((member) => member === undefined);

const whoOf = ({ keyFamily, claim, value, issuer }: CallerEntry): string =>
  JSON.stringify([keyFamily?.toLowerCase(), claim, value, issuer]);

/** The identities with absolute paths. */
export function identitiesOf(
  file: IdentityContent,
  absolute: (name: string | undefined) => string | undefined,
): IdentitySource[] {
  const all = file.identities ?? [{ ...file, name: ONLY_IDENTITY }];
  return all.map(({ name: its, mspId = file.mspId, certFile, keyFile, mspFolder, keyPassphraseFile }) => {
    const common = { name: its, mspId: mspId!, keyPassphraseFile: absolute(keyPassphraseFile) };
    if (mspFolder !== undefined) return { ...common, mspFolder: absolute(mspFolder)! };
    return { ...common, certFile: absolute(certFile)!, keyFile: absolute(keyFile)! };
  });
}

export function callersOf({ callers = [] }: IdentityContent): FabricCaller[] {
  return callers.map(({ identity, keyFamily, claim, value, issuer }) =>
    // Families are compared in lower case, as those of the configured keys.
    keyFamily === undefined
      ? { identity, claim: claim!, value: value!, issuer }
      : { identity, keyFamily: keyFamily.toLowerCase() },
  );
}
