import { useState, type ReactNode } from 'react';
import { Anchor, Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { Link, useNavigate } from 'react-router';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import type { Page as PageOf } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';

type Unconfirmed = Schemas['caseGateAdmin']['UnconfirmedSubject'];

const CAUSES: Readonly<Record<Unconfirmed['cause'], string>> = {
  changed_since: 'Changed after the newest ledger record that was kept',
  not_in_ledger: 'The ledger does not hold this version',
  newer_version_seen: 'A process has seen a later version',
};

/** Finds a subject, and lists those left unconfirmed by a declared loss. */
export function SubjectsPage(): ReactNode {
  const { to } = useEnvironment();
  const navigate = useNavigate();
  return (
    <Page title="Subjects" intro="Who may enter: one record per subject, with all its changes.">
      <Paper
        component="form"
        role="search"
        aria-label="Find a subject"
        onSubmit={(event) => {
          event.preventDefault();
          const ref = String(new FormData(event.currentTarget).get('subject')).trim();
          if (ref !== '') void navigate(to(`subjects/${encodeURIComponent(ref)}`));
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput name="subject" label="Subject" placeholder="subj_…" required maxLength={69} w={320} />
          <Button type="submit">Look up</Button>
        </Group>
      </Paper>
      <UnconfirmedSubjects />
    </Page>
  );
}

function UnconfirmedSubjects(): ReactNode {
  const { name, isOperator, read, send, reload, to } = useEnvironment();
  const [asked, setAsked] = useState<Unconfirmed>();
  return (
    <Section title="Unconfirmed after a declared loss">
      <CursorTable
        label="Unconfirmed subjects"
        queryKey={['cases', name, 'unconfirmed']}
        load={(cursor) => read<PageOf<Unconfirmed>>('/unconfirmed-subjects', { cursor, limit: '50' })}
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
                <Button size="compact-sm" variant="default" onClick={() => setAsked(subject)}>
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
            send(`/subjects/${asked.subject_ref}/confirm`, { record_version: asked.record_version, reason })
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
