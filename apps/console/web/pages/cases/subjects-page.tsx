import { useState, type ReactNode } from 'react';
import { Anchor, Button, Group, Select, Stack, Text } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { Link } from 'react-router';
import { listed, server } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { FilterBox } from '../filter-bar.tsx';
import { exportOf } from './case-api.ts';
import { State, wordOf } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import { Subject as SubjectLink } from './subject-link.tsx';

type Unconfirmed = Schemas['caseGateAdmin']['UnconfirmedSubject'];

const CAUSES: Readonly<Record<Unconfirmed['cause'], string>> = {
  changed_since: 'Changed after the newest ledger record that was kept',
  not_in_ledger: 'The ledger does not hold this version',
  newer_version_seen: 'A process has seen a later version',
};

const STATUSES = ['eligible', 'ineligible', 'pending', 'unconfirmed', 'suspended', 'revoked'];

/** The subjects of an environment, and those left unconfirmed by a declared loss. */
export const SubjectsPage = (): ReactNode => (
  <Page title="Subjects" intro="Who may enter: one record per subject, with all its changes.">
    <AllSubjects />
    <UnconfirmedSubjects />
  </Page>
);

function AllSubjects(): ReactNode {
  const { name, isOperator } = useEnvironment();
  const [chosen, choose] = useUrlFilters(['status']);
  return (
    <>
      <FilterBox count={Object.keys(chosen).length}>
        <Select
          label="Eligibility"
          clearable
          placeholder="All"
          w={170}
          value={chosen.status ?? null}
          data={STATUSES.map((value) => ({ value, label: wordOf(value) }))}
          onChange={(status) => choose({ status })}
          clearButtonProps={{ 'aria-label': 'Clear Eligibility' }}
        />
      </FilterBox>
      <CursorTable
        isDense
        label="Subjects"
        tools={{
          searches: 'the reference of the subject',
          order: 'subject_ref',
          exports: isOperator ? exportOf(name, 'subjects', chosen) : undefined,
        }}
        page={listed('/admin/case-gate/admin/v1/subjects', { query: { environment: name, ...chosen } })}
        rowKey={({ subject_ref }) => subject_ref}
        columns={[
          {
            title: 'Subject',
            sort: 'subject_ref',
            cell: ({ subject_ref }) => <SubjectLink subjectRef={subject_ref} />,
          },
          {
            title: 'Eligibility',
            width: '14rem',
            cell: ({ status, intact }) => (
              <Group gap={6}>
                <State value={status} />
                {!intact && <StateBadge tone="bad">Failed its check</StateBadge>}
              </Group>
            ),
          },
          { title: 'Version', width: '7rem', cell: ({ record_version }) => record_version },
          {
            title: 'Valid until',
            width: '10rem',
            cell: ({ valid_until }) => (valid_until === null ? '–' : <Time value={valid_until} form="day" />),
          },
          {
            title: 'Changed',
            width: '9rem',
            sort: '-changed_at',
            cell: ({ changed_at }) => <Time value={changed_at} form="ago" />,
          },
        ]}
        empty={
          <ListEmpty title={chosen.status === undefined ? 'No subject yet' : 'No subject has this eligibility'}>
            A subject is listed from its first decided case on.
          </ListEmpty>
        }
      />
    </>
  );
}

function UnconfirmedSubjects(): ReactNode {
  const { name: environment, isOperator, reload, to } = useEnvironment();
  const [asked, setAsked] = useState<Unconfirmed>();
  return (
    <Section title="Unconfirmed after a declared loss">
      <CursorTable
        isDense
        label="Unconfirmed subjects"
        cursorName="unconfirmed"
        page={listed('/admin/case-gate/admin/v1/unconfirmed-subjects', { query: { environment } })}
        rowKey={({ subject_ref }) => subject_ref}
        columns={[
          {
            title: 'Subject',
            cell: ({ subject_ref }) => (
              <Anchor component={Link} to={to(`subjects/${subject_ref}`)} fw={600} size="sm">
                {subject_ref}
              </Anchor>
            ),
          },
          {
            title: 'Record',
            width: '11rem',
            cell: ({ status, record_version }) => (
              <Group gap={6}>
                <State value={status} />
                <span>{`version ${record_version}`}</span>
              </Group>
            ),
          },
          { title: 'Why', cell: ({ cause }) => CAUSES[cause] },
          { title: 'Changed', width: '9rem', cell: ({ changed_at }) => <Time value={changed_at} form="ago" /> },
          {
            title: 'Actions',
            width: '8rem',
            cell: (subject) =>
              isOperator && (
                <Button size="compact-xs" variant="default" onClick={() => setAsked(subject)}>
                  Confirm
                </Button>
              ),
          },
        ]}
        empty={
          <ListEmpty title="No unconfirmed subjects" icon="check">
            After a declared loss of ledger records, those whose record is in doubt are listed here.
          </ListEmpty>
        }
      />
      {asked !== undefined && (
        <ConfirmDialog
          title="Confirm this record?"
          action="Confirm"
          reasonMax={500}
          onClose={() => setAsked(undefined)}
          run={(reason) =>
            server.POST('/admin/case-gate/admin/v1/subjects/{subject_ref}/confirm', {
              params: { path: { subject_ref: asked.subject_ref }, query: { environment } },
              body: { record_version: asked.record_version, reason },
            })
          }
          onDone={() => {
            setAsked(undefined);
            reload();
          }}
        >
          <Stack gap={4}>
            <Text size="sm" className="wrap">
              {asked.subject_ref} counts again at the gate as it stands: <State value={asked.status} />
            </Text>
            <Text size="sm">{CAUSES[asked.cause]}. Look at its history first.</Text>
          </Stack>
        </ConfirmDialog>
      )}
    </Section>
  );
}
