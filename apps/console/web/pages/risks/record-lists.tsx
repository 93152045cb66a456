import type { ReactNode } from 'react';
import { Anchor, Button, Group, Select } from '@mantine/core';
import { Link } from 'react-router';
import { CursorTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { TextFilter } from '../text-filter.tsx';
import { useOrganization, usePersonName } from './organization.tsx';
import { choiceInWords } from './record-form.tsx';
import { KINDS } from './record-page.tsx';
import { Score, Status } from './record-values.tsx';
import { listRecords, type Kind, type Views } from './risk-api.ts';
import { WORDS } from './words.ts';

interface Filter {
  readonly name: string;
  readonly label: string;
  /** The values to choose from; default: free text. */
  readonly choices?: readonly string[];
}

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
  const { id: orgId, client, may, to } = useOrganization();
  const [chosen, choose] = useUrlFilters(filters.map(({ name }) => name));
  const { one, page, resource } = KINDS[kind];
  const isFiltered = Object.keys(chosen).length > 0;
  return (
    <Page
      {...{ title, intro }}
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
      <FilterBar {...{ filters, chosen }} onChoose={choose} />
      <CursorTable
        label={title}
        queryKey={['risks', orgId, kind, 'list', chosen]}
        load={(cursor) => listRecords(client, kind, { ...chosen, cursor, limit: '50' })}
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

function FilterBar({
  filters,
  chosen,
  onChoose,
}: {
  readonly filters: readonly Filter[];
  readonly chosen: Readonly<Partial<Record<string, string>>>;
  readonly onChoose: (changes: Record<string, string | null>) => void;
}): ReactNode {
  if (filters.length === 0) return null;
  return (
    <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
      {filters.map(({ name, label, choices }) =>
        choices === undefined ? (
          <TextFilter {...{ key: name, label, value: chosen[name] }} onSet={(value) => onChoose({ [name]: value })} />
        ) : (
          <Select
            {...{ label, clearable: true, placeholder: 'All', w: 170 }}
            key={name}
            value={chosen[name] ?? null}
            data={choices.map((choice) => ({ value: choice, label: choiceInWords(name, choice) }))}
            onChange={(value) => onChoose({ [name]: value })}
            clearButtonProps={{ 'aria-label': `Clear ${label}` }}
          />
        ),
      )}
      {Object.keys(chosen).length > 0 && (
        <Button variant="subtle" onClick={() => onChoose(Object.fromEntries(filters.map(({ name }) => [name, null])))}>
          Clear filters
        </Button>
      )}
    </Group>
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

const status: Column<{ readonly status: string }> = {
  title: 'Status',
  width: '9rem',
  cell: (row) => <Status name="status" value={row.status} />,
};
const changed: Column<{ readonly updatedAt: string }> = {
  title: 'Changed',
  width: '9rem',
  cell: ({ updatedAt }) => <Time value={updatedAt} form="ago" />,
};
const day = (value: string | null): ReactNode => (value === null ? '–' : <Time value={value} form="day" />);

export const RegisterPage = (): ReactNode => (
  <RecordList
    {...{ kind: 'risks', title: 'Risk register', intro: 'The risks of the organisation that you may see.' }}
    filters={[
      { name: 'status', label: 'Status', choices: Object.keys(WORDS.riskStatus) },
      { name: 'level', label: 'Current level', choices: Object.keys(WORDS.level) },
      { name: 'category', label: 'Category' },
      { name: 'ownerId', label: 'Owner' },
    ]}
    columns={[
      { title: 'Risk', cell: ({ id, title, refId }) => <Name {...{ kind: 'risks', id, name: title, refId }} /> },
      { title: 'Category', width: '11rem', cell: ({ category }) => category },
      status,
      { title: 'Inherent', width: '7rem', cell: ({ inherent }) => <Score score={inherent.score} /> },
      { title: 'Current', width: '7rem', cell: ({ current }) => <Score score={current.score} /> },
      {
        title: 'Residual',
        width: '7rem',
        cell: ({ residual }) => (residual === null ? '–' : <Score score={residual.score} />),
      },
      { title: 'Next review', width: '9rem', cell: ({ nextReviewAt }) => day(nextReviewAt) },
    ]}
  />
);

export const ControlsPage = (): ReactNode => (
  <RecordList
    {...{ kind: 'controls', title: 'Controls', intro: 'Measures against risks, and the requirements they meet.' }}
    filters={[
      { name: 'status', label: 'Status', choices: Object.keys(WORDS.controlStatus) },
      { name: 'framework', label: 'Framework id' },
    ]}
    columns={[
      { title: 'Control', cell: ({ id, title, refId }) => <Name {...{ kind: 'controls', id, name: title, refId }} /> },
      status,
      {
        title: 'Requirements',
        width: '14rem',
        cell: ({ frameworkRefs }) => frameworkRefs.map(({ requirementId }) => requirementId).join(', ') || '–',
      },
      { title: 'Last tested', width: '9rem', cell: ({ lastTestedAt }) => day(lastTestedAt) },
      {
        title: 'Result',
        width: '8rem',
        cell: ({ testResult }) => (testResult === null ? '–' : <Status name="testResult" value={testResult} />),
      },
    ]}
  />
);

export const AssetsPage = (): ReactNode => (
  <RecordList
    {...{ kind: 'assets', title: 'Assets', intro: 'What the risks apply to.' }}
    filters={[
      { name: 'criticality', label: 'Criticality', choices: Object.keys(WORDS.level) },
      { name: 'type', label: 'Type' },
    ]}
    columns={[
      { title: 'Asset', cell: ({ id, name, refId }) => <Name {...{ kind: 'assets', id, name, refId }} /> },
      { title: 'Type', width: '10rem', cell: ({ type }) => type },
      { title: 'Criticality', width: '8rem', cell: ({ criticality }) => choiceInWords('criticality', criticality) },
      status,
      { title: 'Environment', width: '9rem', cell: ({ environment }) => environment ?? '–' },
      changed,
    ]}
  />
);

export const PoliciesPage = (): ReactNode => (
  <RecordList
    {...{ kind: 'policies', title: 'Policies', intro: 'The rules of the organisation, by version.' }}
    filters={[{ name: 'status', label: 'Status', choices: Object.keys(WORDS.policyStatus) }]}
    columns={[
      { title: 'Policy', cell: ({ id, title }) => <Name {...{ kind: 'policies', id, name: title }} /> },
      { title: 'Version', width: '6rem', cell: ({ version }) => version },
      status,
      { title: 'Effective', width: '9rem', cell: ({ effectiveAt }) => day(effectiveAt) },
      { title: 'Next review', width: '9rem', cell: ({ nextReviewAt }) => day(nextReviewAt) },
    ]}
  />
);

export function EvidenceListPage(): ReactNode {
  const { to } = useOrganization();
  const nameOf = usePersonName();
  return (
    <RecordList
      {...{ kind: 'evidence', title: 'Evidence', intro: 'What shows that controls work.' }}
      actions={
        <Button component={Link} to={to('evidence')} variant="default">
          As a board
        </Button>
      }
      filters={[
        { name: 'state', label: 'State', choices: Object.keys(WORDS.evidenceState) },
        { name: 'controlId', label: 'Control id' },
        { name: 'ownerId', label: 'Owner' },
      ]}
      columns={[
        { title: 'Evidence', cell: ({ id, title }) => <Name {...{ kind: 'evidence', id, name: title }} /> },
        { title: 'Kind', width: '8rem', cell: ({ kind }) => choiceInWords('kind', kind) },
        { title: 'State', width: '9rem', cell: ({ state }) => <Status name="state" value={state} /> },
        { title: 'Owner', width: '12rem', cell: ({ ownerId }) => nameOf(ownerId) },
        { title: 'Valid until', width: '9rem', cell: ({ validUntil }) => day(validUntil) },
        changed,
      ]}
    />
  );
}
