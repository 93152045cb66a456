import type { ReactNode } from 'react';
import { Anchor, Button } from '@mantine/core';
import { Link } from 'react-router';
import { CursorTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { useCountedIntro, useOrganization, usePersonName } from './organization.tsx';
import { KINDS } from './record-kinds.ts';
import { RecordFilters, type Filter } from './record-filters.tsx';
import { membersOf, valuesOf, type Field } from './record-schemas.ts';
import { Score, ScoreMove, Status } from './record-values.tsx';
import { exportOf, recordPages, type Kind, type RiskSchemas, type Views } from './risk-api.ts';
import { inWords } from './words.ts';

/** What a search looks in. */
const SEARCHED: Readonly<Record<Kind, string>> = {
  risks: 'id, reference or title',
  controls: 'id, reference or title',
  assets: 'id, reference or name',
  evidence: 'id or title',
  policies: 'id or title',
};

/** Rows that everybody in the organisation sees, who may read them at all. */
const ALL_SEEN: ReadonlySet<Kind> = new Set(['controls', 'policies']);

interface ListProps<K extends Kind> {
  readonly kind: K;
  readonly title: string;
  readonly intro: string;
  readonly filters: readonly Filter[];
  readonly columns: readonly Column<Views[K]>[];
  readonly actions?: ReactNode;
}

/** A collection as a paginated table, with its filters in the URL. */
function RecordList<K extends Kind>({ kind, title, intro, filters, columns, actions }: ListProps<K>): ReactNode {
  const { id: orgId, inOrg, may, to } = useOrganization();
  const [chosen, choose] = useUrlFilters(filters.map(({ name }) => name));
  const { one, page, resource } = KINDS[kind];
  const isFiltered = Object.keys(chosen).length > 0;
  const counted = useCountedIntro(intro);
  return (
    <Page
      title={title}
      intro={ALL_SEEN.has(kind) ? intro : counted}
      actions={
        <>
          {actions}
          {may(`${resource}:create`) && (
            <Button component={Link} to={to(`${page}/new`)}>
              New {one}
            </Button>
          )}
        </>
      }
    >
      <RecordFilters filters={filters} chosen={chosen} onChoose={choose} />
      <CursorTable
        label={title}
        isDense
        tools={{
          searches: SEARCHED[kind],
          order: 'createdAt',
          exports: may(`${resource}:export`) ? exportOf(orgId, kind, chosen) : undefined,
        }}
        page={recordPages(inOrg, kind, chosen)}
        rowKey={({ id }) => id}
        columns={columns}
        empty={
          <ListEmpty title={isFiltered ? 'Nothing matches these filters' : `No ${one} yet`}>
            {isFiltered
              ? 'Rows that you may not see are not in any list.'
              : 'Records created here or by the API are listed.'}
          </ListEmpty>
        }
      />
    </Page>
  );
}

/** The name of a record, linked to its page. */
function Name({
  kind,
  id,
  name,
  refId,
}: {
  readonly kind: Kind;
  readonly id: string;
  readonly name: string;
  readonly refId?: string | null;
}): ReactNode {
  const { to } = useOrganization();
  return (
    <Anchor
      component={Link}
      to={to(`${KINDS[kind].page}/${encodeURIComponent(id)}`)}
      fw={600}
      size="sm"
      className="wrap"
    >
      {refId != null && `${refId} · `}
      {name}
    </Anchor>
  );
}

/** How lists show a value; other kinds are text. */
const CELLS: Readonly<Partial<Record<Field['kind'], (value: never) => ReactNode>>> = {
  choice: (value: string) => <Status value={value} />,
  rating: ({ score }: RiskSchemas['Rating']) => <Score score={score} />,
  time: (value: string) => <Time value={value} form="day" />,
};

interface Look<Value> {
  readonly width: string;
  /** A shorter title than the label. */
  readonly title?: string;
  readonly cell?: (value: Value) => ReactNode;
  /** See Column. */
  readonly sort?: string;
}

/** Columns of members of a record, by name: with their labels in the model. */
function columnsOf<K extends Kind>(
  kind: K,
  looks: { readonly [Name in keyof Views[K]]?: Look<NonNullable<Views[K][Name]>> },
): Column<Views[K]>[] {
  const fields = new Map(membersOf(kind).map((field) => [field.name, field]));
  return (Object.entries(looks) as [keyof Views[K] & string, Look<unknown>][]).map(([name, look]) => {
    const { label, kind: shape } = fields.get(name)!;
    const cell = look.cell ?? (CELLS[shape] as Look<unknown>['cell']) ?? String;
    return {
      title: look.title ?? label,
      width: look.width,
      ...(look.sort !== undefined && { sort: look.sort }),
      cell: (row) => (row[name] == null ? '–' : cell(row[name])),
    };
  });
}

const ago = (value: string): ReactNode => <Time value={value} form="ago" />;

/** Of risks that got worse: what they were, in place of the ratings that stayed. */
const WORSE_COLUMNS: readonly Column<Views['risks']>[] = [
  {
    title: 'Then and now',
    width: '15rem',
    sort: '-currentScore',
    cell: ({ previous, current }) => <ScoreMove from={previous} to={current} />,
  },
  {
    title: 'Worse since',
    width: '8rem',
    cell: ({ previous }) => (previous === undefined ? '–' : <Time value={previous.until} form="day" />),
  },
];

export function RegisterPage(): ReactNode {
  const [{ worseSince }] = useUrlFilters(['worseSince']);
  return (
    <RecordList
      kind="risks"
      title="Risk register"
      intro={
        worseSince === undefined
          ? 'The risks of the organisation.'
          : 'Risks that are rated higher now than they were then, without those made since.'
      }
      filters={[
        { name: 'worseSince', label: 'Got worse since' },
        { name: 'status', label: 'Status', choices: valuesOf('RiskStatus') },
        { name: 'level', label: 'Current level', choices: valuesOf('Level') },
        { name: 'category', label: 'Category' },
        { name: 'controlId', label: 'Control' },
        { name: 'ownerId', label: 'Owner' },
      ]}
      columns={[
        {
          title: 'Risk',
          sort: 'title',
          cell: ({ id, title, refId }) => <Name kind="risks" id={id} name={title} refId={refId} />,
        },
        ...(worseSince === undefined ? [] : WORSE_COLUMNS),
        ...columnsOf('risks', { category: { width: '8rem' }, status: { width: '8.5rem' } }),
        ...(worseSince === undefined
          ? columnsOf('risks', {
              inherent: { width: '7rem', title: 'Inherent' },
              current: { width: '7rem', title: 'Current', sort: '-currentScore' },
              residual: { width: '7rem', title: 'Residual' },
            })
          : []),
        ...columnsOf('risks', {
          nextReviewAt: { width: '8rem', sort: 'nextReviewAt' },
          updatedAt: { width: '8.5rem', cell: ago, sort: '-updatedAt' },
        }),
      ]}
    />
  );
}

export const ControlsPage = (): ReactNode => (
  <RecordList
    kind="controls"
    title="Controls"
    intro="Measures against risks, and the requirements they meet."
    filters={[
      { name: 'status', label: 'Status', choices: valuesOf('ControlStatus') },
      { name: 'framework', label: 'Framework id' },
    ]}
    columns={[
      {
        title: 'Control',
        sort: 'title',
        cell: ({ id, title, refId }) => <Name kind="controls" id={id} name={title} refId={refId} />,
      },
      ...columnsOf('controls', {
        status: { width: '9rem' },
        frameworkRefs: {
          width: '14rem',
          cell: (refs) => refs.map(({ requirementId }) => requirementId).join(', ') || '–',
        },
        lastTestedAt: { width: '9rem' },
        testResult: { width: '8rem', title: 'Result' },
        updatedAt: { width: '9rem', cell: ago, sort: '-updatedAt' },
      }),
    ]}
  />
);

export const AssetsPage = (): ReactNode => (
  <RecordList
    kind="assets"
    title="Assets"
    intro="What the risks apply to."
    filters={[
      { name: 'criticality', label: 'Criticality', choices: valuesOf('Criticality') },
      { name: 'type', label: 'Type' },
      { name: 'controlId', label: 'Control' },
      { name: 'ownerId', label: 'Owner' },
    ]}
    columns={[
      {
        title: 'Asset',
        sort: 'name',
        cell: ({ id, name, refId }) => <Name kind="assets" id={id} name={name} refId={refId} />,
      },
      ...columnsOf('assets', {
        type: { width: '10rem' },
        criticality: { width: '8rem', cell: inWords },
        status: { width: '9rem' },
        environment: { width: '9rem' },
        updatedAt: { width: '9rem', cell: ago, sort: '-updatedAt' },
      }),
    ]}
  />
);

export const PoliciesPage = (): ReactNode => (
  <RecordList
    kind="policies"
    title="Policies"
    intro="The rules of the organisation, by version."
    filters={[{ name: 'status', label: 'Status', choices: valuesOf('PolicyStatus') }]}
    columns={[
      { title: 'Policy', sort: 'title', cell: ({ id, title }) => <Name kind="policies" id={id} name={title} /> },
      ...columnsOf('policies', {
        version: { width: '6rem' },
        status: { width: '9rem' },
        effectiveAt: { width: '9rem' },
        nextReviewAt: { width: '9rem', sort: 'nextReviewAt' },
        updatedAt: { width: '9rem', cell: ago, sort: '-updatedAt' },
      }),
    ]}
  />
);

export function EvidenceListPage(): ReactNode {
  const { to } = useOrganization();
  const nameOf = usePersonName();
  return (
    <RecordList
      kind="evidence"
      title="Evidence"
      intro="What shows that controls work."
      actions={
        <Button component={Link} to={to('evidence')} variant="default">
          As a board
        </Button>
      }
      filters={[
        { name: 'state', label: 'State', choices: valuesOf('EvidenceState') },
        { name: 'controlId', label: 'Control' },
        { name: 'ownerId', label: 'Owner' },
      ]}
      columns={[
        { title: 'Evidence', sort: 'title', cell: ({ id, title }) => <Name kind="evidence" id={id} name={title} /> },
        ...columnsOf('evidence', {
          kind: { width: '8rem', cell: inWords },
          state: { width: '9rem' },
          ownerId: { width: '12rem', cell: nameOf },
          validUntil: { width: '9rem', sort: 'validUntil' },
          updatedAt: { width: '9rem', cell: ago, sort: '-updatedAt' },
        }),
      ]}
    />
  );
}
