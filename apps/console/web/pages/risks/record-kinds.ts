import type { Kind } from './risk-api.ts';
import * as texts from './texts.ts';

/** Display names (in a sentence, and as the head of a column), list page and permission prefix of each collection. */
export const KINDS: Readonly<
  Record<
    Kind,
    {
      readonly one: string;
      readonly head: string;
      readonly list: string;
      readonly page: string;
      readonly resource: string;
    }
  >
> = {
  risks: { one: texts.risk, head: texts.riskHead, list: texts.register, page: 'register', resource: 'risk' },
  evidence: {
    one: texts.evidenceInSentence,
    head: texts.evidence,
    list: texts.evidence,
    page: 'evidence',
    resource: 'evidence',
  },
  controls: {
    one: texts.control,
    head: texts.controlHead,
    list: texts.controls,
    page: 'controls',
    resource: 'control',
  },
  assets: { one: texts.asset, head: texts.assetHead, list: texts.assets, page: 'assets', resource: 'asset' },
  policies: { one: texts.policy, head: texts.policyHead, list: texts.policies, page: 'policies', resource: 'policy' },
};

/** The collection that a member with ids of records names. */
export const KIND_OF_IDS: Readonly<Record<string, Kind>> = {
  assetIds: 'assets',
  controlIds: 'controls',
  evidenceIds: 'evidence',
};
