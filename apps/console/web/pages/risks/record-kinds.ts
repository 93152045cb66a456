import type { Kind } from './risk-api.ts';

/** Display name, list page and permission prefix of each collection. */
export const KINDS: Readonly<
  Record<Kind, { readonly one: string; readonly list: string; readonly page: string; readonly resource: string }>
> = {
  risks: { one: 'risk', list: 'Register', page: 'register', resource: 'risk' },
  evidence: { one: 'evidence', list: 'Evidence', page: 'evidence', resource: 'evidence' },
  controls: { one: 'control', list: 'Controls', page: 'controls', resource: 'control' },
  assets: { one: 'asset', list: 'Assets', page: 'assets', resource: 'asset' },
  policies: { one: 'policy', list: 'Policies', page: 'policies', resource: 'policy' },
};

/** The collection that a member with ids of records names. */
export const KIND_OF_IDS: Readonly<Record<string, Kind>> = {
  assetIds: 'assets',
  controlIds: 'controls',
  evidenceIds: 'evidence',
};
