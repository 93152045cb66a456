/** Permissions and row visibility, written by hand from the contract, independently of the code under test. */

/** One column per role, in the order of the contract's table. */
const COLUMNS = ['owner', 'admin', 'risk_manager', 'auditor', 'contributor', 'viewer', 'partner_read'] as const;

const TABLE = `
risk            crude crude crue re ru   r   -
evidence        crude crude crue re cru  r   -
asset           crude crude crue re r    r   -
control         crude crude crue re r    r   -
policy          crude crude re   re r    -   -
policyMetadata  r     r     r    r  r    r   -
v1              r     r     r    r  r    r   r
apiKey          crd   crd   crd  crd crd crd -
audit           r     r     -    r  -    -   -
member          crude crue  -    re -    -   -
`;

const GRANTS = new Map(
  TABLE.trim()
    .split('\n')
    .map((line) => {
      const [resource = '', ...cells] = line.split(/\s+/);
      return [resource, cells] as const;
    }),
);

export interface MatrixCaller {
  readonly roles: readonly string[];
  readonly departments: readonly string[];
  readonly unrestricted: boolean;
  readonly canReadSensitive: boolean;
}

/** `letter` is c, r, u, d or e. */
export function isGranted(caller: MatrixCaller, resource: string, letter: string): boolean {
  return caller.roles.some((role) => {
    const column = COLUMNS.findIndex((name) => name === role);
    return GRANTS.get(resource)?.[column]?.includes(letter) === true;
  });
}

/** Row classes by their attributes. `own`: the caller is the owner. */
export const ROW_CLASSES = {
  opsPlain: { department: 'ops', sensitive: false, own: false },
  finPlain: { department: 'fin', sensitive: false, own: false },
  opsSensitive: { department: 'ops', sensitive: true, own: false },
  finSensitive: { department: 'fin', sensitive: true, own: false },
  nonePlain: { department: null, sensitive: false, own: false },
  ownFin: { department: 'fin', sensitive: false, own: true },
  ownFinSensitive: { department: 'fin', sensitive: true, own: true },
} as const;

export type RowClass = keyof typeof ROW_CLASSES;

export function isVisible(caller: MatrixCaller, rowClass: RowClass): boolean {
  const { department, sensitive, own } = ROW_CLASSES[rowClass];
  const has = (...roles: string[]) => caller.roles.some((role) => roles.includes(role));
  const readsForPartners = caller.roles.length > 0 && caller.roles.every((role) => role === 'partner_read');
  const unrestricted =
    caller.unrestricted || has('owner', 'admin', 'risk_manager', 'auditor') || (readsForPartners && true);
  const isOwner = own && !readsForPartners;
  const reached =
    unrestricted || has('partner_read') || isOwner || (department !== null && caller.departments.includes(department));
  const readsSensitive = has('owner', 'admin', 'risk_manager') || (caller.canReadSensitive && !readsForPartners);
  return reached && (!sensitive || readsSensitive || isOwner);
}
