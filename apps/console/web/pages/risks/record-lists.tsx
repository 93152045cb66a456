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
import * as texts from './texts.ts';
import { inWords } from './words.ts';

/** What the words of a search are a part of. */
const SEARCHED: Readonly<Record<Kind, string>> = {
  risks: texts.wordsInTitles,
  controls: texts.wordsInTitles,
  assets: texts.wordsInNames,
  evidence: texts.wordsInIdOrTitle,
  policies: texts.wordsInIdOrTitle,
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
              {texts.newOf(one)}
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
          <ListEmpty title={isFiltered ? texts.nothingMatchesTheseFilters : texts.noneOfYet(one)}>
            {isFiltered ? texts.hiddenRowsHint : texts.noRecordHint}
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
    title: texts.thenAndNow,
    width: '15rem',
    sort: '-currentScore',
    cell: ({ previous, current }) => <ScoreMove from={previous} to={current} />,
  },
  {
    title: texts.worseSince,
    width: '8rem',
    cell: ({ previous }) => (previous === undefined ? '–' : <Time value={previous.until} form="day" />),
  },
];

export function RegisterPage(): ReactNode {
  const [{ worseSince }] = useUrlFilters(['worseSince']);
  return (
    <RecordList
      kind="risks"
      title={texts.riskRegister}
      intro={worseSince === undefined ? texts.theRisksOfTheOrganisation : texts.worseIntro}
      filters={[
        { name: 'worseSince', label: texts.gotWorseSince },
        { name: 'status', label: texts.status, choices: valuesOf('RiskStatus') },
        { name: 'level', label: texts.currentLevel, choices: valuesOf('Level') },
        { name: 'category', label: texts.category },
        { name: 'controlId', label: texts.controlHead },
        { name: 'ownerId', label: texts.owner },
      ]}
      columns={[
        {
          title: texts.riskHead,
          sort: 'title',
          cell: ({ id, title, refId }) => <Name kind="risks" id={id} name={title} refId={refId} />,
        },
        ...(worseSince === undefined ? [] : WORSE_COLUMNS),
        ...columnsOf('risks', { category: { width: '8rem' }, status: { width: '8.5rem' } }),
        ...(worseSince === undefined
          ? columnsOf('risks', {
              inherent: { width: '7rem', title: texts.inherent },
              current: { width: '7rem', title: texts.current, sort: '-currentScore' },
              residual: { width: '7rem', title: texts.residual },
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
    title={texts.controls}
    intro={texts.controlsIntro}
    filters={[
      { name: 'status', label: texts.status, choices: valuesOf('ControlStatus') },
      { name: 'framework', label: texts.frameworkId },
    ]}
    columns={[
      {
        title: texts.controlHead,
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
        testResult: { width: '8rem', title: texts.result },
        updatedAt: { width: '9rem', cell: ago, sort: '-updatedAt' },
      }),
    ]}
  />
);

export const AssetsPage = (): ReactNode => (
  <RecordList
    kind="assets"
    title={texts.assets}
    intro={texts.assetsIntro}
    filters={[
      { name: 'criticality', label: texts.criticality, choices: valuesOf('Criticality') },
      { name: 'type', label: texts.type },
      { name: 'controlId', label: texts.controlHead },
      { name: 'ownerId', label: texts.owner },
    ]}
    columns={[
      {
        title: texts.assetHead,
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
    title={texts.policies}
    intro={texts.policiesIntro}
    filters={[{ name: 'status', label: texts.status, choices: valuesOf('PolicyStatus') }]}
    columns={[
      {
        title: texts.policyHead,
        sort: 'title',
        cell: ({ id, title }) => <Name kind="policies" id={id} name={title} />,
      },
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
      title={texts.evidence}
      intro={texts.evidenceIntro}
      actions={
        <Button component={Link} to={to('evidence')} variant="default">
          {texts.asABoard}
        </Button>
      }
      filters={[
        { name: 'state', label: texts.state, choices: valuesOf('EvidenceState') },
        { name: 'controlId', label: texts.controlHead },
        { name: 'ownerId', label: texts.owner },
      ]}
      columns={[
        {
          title: texts.evidence,
          sort: 'title',
          cell: ({ id, title }) => <Name kind="evidence" id={id} name={title} />,
        },
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
