import * as texts from './texts.ts';

/** The pages of an organisation in the order of its tabs; with `needs`, for those with one of these permissions. */
export const RISK_PAGES: readonly {
  readonly path: string;
  readonly title: string;
  readonly needs: readonly string[];
}[] = [
  { path: 'register', title: texts.register, needs: ['risk:read'] },
  { path: 'heat-map', title: texts.heatMap, needs: ['risk:read'] },
  { path: 'controls', title: texts.controls, needs: ['control:read'] },
  { path: 'evidence', title: texts.evidence, needs: ['evidence:read'] },
  { path: 'coverage', title: texts.coverage, needs: ['coverage:read'] },
  { path: 'assets', title: texts.assets, needs: ['asset:read'] },
  { path: 'policies', title: texts.policies, needs: ['policy:read', 'policyMetadata:read'] },
  { path: 'keys', title: texts.myKeys, needs: ['apiKey:read'] },
  { path: 'people', title: texts.people, needs: [] },
  { path: 'audit', title: texts.audit, needs: ['audit:read'] },
];
