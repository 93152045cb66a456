/** The pages of an environment in the order of its tabs, each with the permission it needs. */
export const CASE_PAGES = [
  { path: 'queue', title: 'Queue', needs: 'cases:read' },
  { path: 'subjects', title: 'Subjects', needs: 'admin:read' },
  { path: 'venues', title: 'Venues', needs: 'admin:read' },
  { path: 'policies', title: 'Policies', needs: 'policies:read' },
  { path: 'decisions', title: 'Gate decisions', needs: 'admin:read' },
  { path: 'gate-keys', title: 'Gate keys', needs: 'admin:read' },
];
