/** What the demo organisation is made of. A freight company: everything is made up, and names nobody. */

export const departments = ['operations', 'warehouse', 'it', 'finance', 'hr', 'legal'] as const;

/** Risks by category; each is met in several places. */
export const threats: Readonly<Record<string, readonly string[]>> = {
  operations: [
    'Loss of the transport management system',
    'Customs declarations sent late',
    'Cold chain broken unnoticed',
    'Night shift without a supervisor',
  ],
  security: [
    'Ransomware on file servers',
    'Stolen handheld scanners',
    'Phishing of dispatch mailboxes',
    'Shared accounts at packing stations',
    'Unpatched edge routers',
  ],
  supplier: ['Subcontractor without insurance', 'Single supplier of pallets', 'Cloud provider changes its terms'],
  compliance: [
    'Driving times not recorded',
    'Dangerous goods without papers',
    'Retention periods exceeded',
    'Data processing agreement missing',
  ],
  finance: ['Payment run released by one person', 'Fuel price not hedged', 'Invoices matched by hand'],
  people: ['Key dispatcher leaves', 'Forklift licences expired', 'No deputy for payroll'],
};

export const places = [
  'Hamburg hub',
  'Rotterdam hub',
  'Gdansk depot',
  'Lyon depot',
  'headquarters',
  'road fleet',
  'customer portal',
  'bonded warehouse',
  'rail terminal',
  'returns centre',
] as const;

export const assetKinds = [
  ['Transport management system', 'application', 'critical'],
  ['Warehouse management system', 'application', 'critical'],
  ['Customer portal', 'application', 'high'],
  ['Payroll', 'application', 'high'],
  ['Data warehouse', 'data store', 'high'],
  ['Handheld scanners', 'device fleet', 'medium'],
  ['Edge routers', 'network', 'high'],
  ['Cold storage sensors', 'device fleet', 'medium'],
  ['Backup vault', 'data store', 'critical'],
  ['Forklift fleet', 'equipment', 'medium'],
] as const;

/** Two frameworks, shortened: each requirement with its own words, and the control that meets it. */
export const frameworks = [
  {
    name: 'Information security baseline',
    version: '2026',
    requirements: [
      'Security policy',
      'Roles and duties',
      'Asset inventory',
      'Access rights',
      'Privileged access',
      'Secure configuration',
      'Vulnerability handling',
      'Backups',
      'Logging',
      'Incident response',
      'Supplier security',
      'Continuity of operation',
      'Awareness',
      'Physical access',
      'Cryptography',
      'Change control',
    ],
    prefix: 'IS',
  },
  {
    name: 'Transport compliance',
    version: '4',
    requirements: [
      'Driving and rest times',
      'Load securing',
      'Dangerous goods',
      'Temperature control',
      'Customs security',
      'Vehicle inspection',
      'Driver qualification',
      'Accident reporting',
      'Subcontractor checks',
      'Record keeping',
    ],
    prefix: 'TC',
  },
] as const;

export const policies = [
  ['Information security policy', 'Everybody protects what customers trust us with.'],
  ['Acceptable use', 'Company devices are for company work.'],
  ['Incident handling', 'Report at once; nobody is blamed for reporting.'],
  ['Supplier selection', 'Two offers, one check, one contract.'],
  ['Driving times', 'No delivery is worth a tired driver.'],
  ['Business continuity', 'Each hub can work for two days without the centre.'],
] as const;
