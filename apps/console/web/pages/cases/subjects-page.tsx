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
import * as texts from './texts.ts';

type Unconfirmed = Schemas['caseGateAdmin']['UnconfirmedSubject'];

const CAUSES: Readonly<Record<Unconfirmed['cause'], string>> = {
  changed_since: texts.changedSinceLedgerRecord,
  not_in_ledger: texts.notInTheLedger,
  newer_version_seen: texts.newerVersionSeen,
};

const STATUSES = ['eligible', 'ineligible', 'pending', 'unconfirmed', 'suspended', 'revoked'];

/** The subjects of an environment, and those left unconfirmed by a declared loss. */
export const SubjectsPage = (): ReactNode => (
  <Page title={texts.subjects} intro={texts.subjectsIntro}>
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
          label={texts.eligibility}
          clearable
          placeholder={texts.all}
          w={170}
          value={chosen.status ?? null}
          data={STATUSES.map((value) => ({ value, label: wordOf(value) }))}
          onChange={(status) => choose({ status })}
          clearButtonProps={{ 'aria-label': texts.clearEligibility }}
        />
      </FilterBox>
      <CursorTable
        isDense
        label={texts.subjects}
        tools={{
          searches: texts.wordsInTheReferenceOfTheSubject,
          order: 'subject_ref',
          exports: isOperator ? exportOf(name, 'subjects', chosen) : undefined,
        }}
        page={listed('/admin/case-gate/admin/v1/subjects', { query: { environment: name, ...chosen } })}
        rowKey={({ subject_ref }) => subject_ref}
        columns={[
          {
            title: texts.subject,
            sort: 'subject_ref',
            cell: ({ subject_ref }) => <SubjectLink subjectRef={subject_ref} />,
          },
          {
            title: texts.eligibility,
            width: '14rem',
            cell: ({ status, intact }) => (
              <Group gap={6}>
                <State value={status} />
                {!intact && <StateBadge tone="bad">{texts.failedItsCheck}</StateBadge>}
              </Group>
            ),
          },
          { title: texts.version, width: '7rem', cell: ({ record_version }) => record_version },
          {
            title: texts.validUntil,
            width: '10rem',
            cell: ({ valid_until }) => (valid_until === null ? '–' : <Time value={valid_until} form="day" />),
          },
          {
            title: texts.changed,
            width: '9rem',
            sort: '-changed_at',
            cell: ({ changed_at }) => <Time value={changed_at} form="ago" />,
          },
        ]}
        empty={
          <ListEmpty title={chosen.status === undefined ? texts.noSubjectYet : texts.noSubjectHasThisEligibility}>
            {texts.noSubjectHint}
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
    <Section title={texts.unconfirmedAfterADeclaredLoss}>
      <CursorTable
        isDense
        label={texts.unconfirmedSubjects}
        cursorName="unconfirmed"
        page={listed('/admin/case-gate/admin/v1/unconfirmed-subjects', { query: { environment } })}
        rowKey={({ subject_ref }) => subject_ref}
        columns={[
          {
            title: texts.subject,
            cell: ({ subject_ref }) => (
              <Anchor component={Link} to={to(`subjects/${subject_ref}`)} fw={600} size="sm">
                {subject_ref}
              </Anchor>
            ),
          },
          {
            title: texts.record,
            width: '11rem',
            cell: ({ status, record_version }) => (
              <Group gap={6}>
                <State value={status} />
                <span>{texts.versionNumber(record_version)}</span>
              </Group>
            ),
          },
          { title: texts.why, cell: ({ cause }) => CAUSES[cause] },
          { title: texts.changed, width: '9rem', cell: ({ changed_at }) => <Time value={changed_at} form="ago" /> },
          {
            title: texts.actions,
            width: '8rem',
            cell: (subject) =>
              isOperator && (
                <Button size="compact-xs" variant="default" onClick={() => setAsked(subject)}>
                  {texts.confirm}
                </Button>
              ),
          },
        ]}
        empty={
          <ListEmpty title={texts.noUnconfirmedSubjects} icon="check">
            {texts.noUnconfirmedSubjectsHint}
          </ListEmpty>
        }
      />
      {asked !== undefined && (
        <ConfirmDialog
          title={texts.confirmThisRecord}
          action={texts.confirm}
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
              {texts.countsAgainAtTheGate(asked.subject_ref, <State value={asked.status} />)}
            </Text>
            <Text size="sm">{texts.lookAtItsHistoryFirst(CAUSES[asked.cause])}</Text>
          </Stack>
        </ConfirmDialog>
      )}
    </Section>
  );
}
