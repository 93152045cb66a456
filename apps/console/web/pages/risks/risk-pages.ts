/** The pages of an organisation in the order of its tabs; with `needs`, for those with one of these permissions. */
export const RISK_PAGES: readonly {
  readonly path: string;
  readonly title: string;
  readonly needs: readonly string[];
}[] = [
  { path: 'register', title: 'Register', needs: ['risk:read'] },
  { path: 'heat-map', title: 'Heat map', needs: ['risk:read'] },
  { path: 'controls', title: 'Controls', needs: ['control:read'] },
  { path: 'evidence', title: 'Evidence', needs: ['evidence:read'] },
  { path: 'coverage', title: 'Coverage', needs: ['coverage:read'] },
  { path: 'assets', title: 'Assets', needs: ['asset:read'] },
  { path: 'policies', title: 'Policies', needs: ['policy:read', 'policyMetadata:read'] },
  { path: 'keys', title: 'My keys', needs: ['apiKey:read'] },
  { path: 'people', title: 'People', needs: [] },
  { path: 'audit', title: 'Audit', needs: ['audit:read'] },
];
