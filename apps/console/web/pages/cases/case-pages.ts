import * as texts from './texts.ts';

/** The pages of an environment in the order of its tabs, each with the permission it needs. */
export const CASE_PAGES = [
  { path: 'queue', title: texts.queue, needs: 'cases:read' },
  { path: 'subjects', title: texts.subjects, needs: 'admin:read' },
  { path: 'venues', title: texts.venues, needs: 'admin:read' },
  { path: 'policies', title: texts.policies, needs: 'policies:read' },
  { path: 'decisions', title: texts.gateDecisions, needs: 'admin:read' },
  { path: 'gate-keys', title: texts.gateKeys, needs: 'admin:read' },
];
