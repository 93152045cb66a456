import { useState, type ReactNode } from 'react';
import { Anchor, Button, Paper, SimpleGrid, Text } from '@mantine/core';
import { Link, useParams } from 'react-router';
import { CodeText } from '../../shell/code-text.tsx';
import { api, listed, server } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, ListLoading } from '../../shell/list-states.tsx';
import { Fact, Page, Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { Time } from '../../shell/time.tsx';
import { Actor } from '../actor.tsx';
import { named } from '../actor-in-words.ts';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import type { Eligibility } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import { ReasonCodes } from './reason-codes.tsx';
import * as texts from './texts.ts';

/** One subject: whether they may enter, why, and all changes. */
export function SubjectPage(): ReactNode {
  const { ref = '' } = useParams<{ ref: string }>();
  const { name: environment, may, to } = useEnvironment();
  const found = api.useQuery('get', '/admin/case-gate/admin/v1/subjects/{subject_ref}', {
    params: { path: { subject_ref: ref }, query: { environment } },
  });
  return (
    <Page
      title={ref}
      above={may('admin:read') ? [{ title: texts.subjects, to: to('subjects') }] : []}
      actions={found.data !== undefined && <Actions subject={found.data} />}
    >
      {found.isError && <ProblemView error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <ListLoading />}
      {found.data !== undefined && (
        <>
          <Facts subject={found.data} />
          <History subjectRef={ref} />
        </>
      )}
    </Page>
  );
}

interface Action {
  readonly path: 'suspend' | 'reinstate' | 'revoke' | 'confirm';
  readonly title: string;
  readonly question: (subject: string) => string;
  readonly words: string;
}

const SUSPEND: Action = {
  path: 'suspend',
  title: texts.suspend,
  question: texts.suspendSubject,
  words: texts.suspendHint,
};
const REINSTATE: Action = {
  path: 'reinstate',
  title: texts.reinstate,
  question: texts.reinstateSubject,
  words: texts.reinstateHint,
};
const REVOKE: Action = {
  path: 'revoke',
  title: texts.revoke,
  question: texts.revokeSubject,
  words: texts.revokeHint,
};
const CONFIRM: Action = {
  path: 'confirm',
  title: texts.confirm,
  question: texts.confirmSubject,
  words: texts.confirmHint,
};

/** The actions on a subject in each state. */
const ACTIONS: Readonly<Record<Eligibility['status'], readonly Action[]>> = {
  eligible: [SUSPEND, REVOKE],
  ineligible: [SUSPEND, REVOKE],
  pending: [SUSPEND, REVOKE],
  expired: [SUSPEND, REVOKE],
  suspended: [REINSTATE, REVOKE],
  unconfirmed: [CONFIRM, SUSPEND, REVOKE],
  revoked: [],
};

function Actions({ subject }: { readonly subject: Eligibility }): ReactNode {
  const { name: environment, isOperator, reload } = useEnvironment();
  const [asked, setAsked] = useState<Action>();
  if (!isOperator) return null;
  const isRevoking = asked?.path === 'revoke';
  return (
    <>
      {ACTIONS[subject.status].map((action) => (
        <Button
          key={action.path}
          variant="default"
          {...(action.path === 'revoke' && { c: 'var(--console-bad)' })}
          onClick={() => setAsked(action)}
        >
          {action.title}
        </Button>
      ))}
      {asked !== undefined && (
        <ConfirmDialog
          title={asked.question(subject.subject_ref)}
          action={asked.title}
          reasonMax={500}
          onClose={() => setAsked(undefined)}
          {...(isRevoking && { tone: 'danger', typed: subject.subject_ref })}
          run={(reason) =>
            server.POST(`/admin/case-gate/admin/v1/subjects/{subject_ref}/${asked.path}`, {
              params: { path: { subject_ref: subject.subject_ref }, query: { environment } },
              body: { reason, ...(asked.path === 'confirm' && { record_version: subject.record_version }) } as {
                reason: string;
                record_version: number;
              },
            })
          }
          onDone={() => {
            setAsked(undefined);
            reload();
          }}
        >
          <Text size="sm">{asked.words}</Text>
        </ConfirmDialog>
      )}
    </>
  );
}

function Facts({ subject }: { readonly subject: Eligibility }): ReactNode {
  const { to } = useEnvironment();
  const time = (value: string | null) => (value === null ? '–' : <Time value={value} />);
  return (
    <Paper>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="md">
        <Fact label={texts.eligibility}>
          <State value={subject.status} />
        </Fact>
        <Fact label={texts.venues}>{subject.venue_ids.join(', ') || texts.none}</Fact>
        <Fact label={texts.reasons}>
          <ReasonCodes codes={subject.reason_codes} />
        </Fact>
        <Fact label={texts.policyVersion}>{subject.policy_version ?? '–'}</Fact>
        <Fact label={texts.validFrom}>{time(subject.valid_from)}</Fact>
        <Fact label={texts.validUntil}>{subject.valid_until === null ? texts.noEnd : time(subject.valid_until)}</Fact>
        <Fact label={texts.theCase}>
          {subject.case_id === null ? (
            '–'
          ) : (
            <Anchor component={Link} to={to(`queue/${subject.case_id}`)} size="sm" className="wrap">
              {subject.case_id}
            </Anchor>
          )}
        </Fact>
        <Fact label={texts.recordVersion}>{subject.record_version}</Fact>
        {subject.revoked_at !== null && (
          <Fact label={texts.revoked}>
            {time(subject.revoked_at)}: {subject.revocation_reason}
          </Fact>
        )}
        {subject.ledger_record_id !== null && (
          <Fact label={texts.ledgerRecord}>
            <CodeText value={subject.ledger_record_id} label={texts.copyTheLedgerRecord} short={26} />
          </Fact>
        )}
      </SimpleGrid>
    </Paper>
  );
}

function History({ subjectRef }: { readonly subjectRef: string }): ReactNode {
  const { name: environment } = useEnvironment();
  return (
    <Section title={texts.history}>
      <CursorTable
        label={texts.history}
        page={named(
          listed('/admin/case-gate/admin/v1/subjects/{subject_ref}/history', {
            path: { subject_ref: subjectRef },
            query: { environment },
          }),
        )}
        rowKey={({ record_version }) => String(record_version)}
        columns={[
          { title: texts.version, width: '6rem', cell: ({ record_version }) => record_version },
          { title: texts.what, cell: ({ event }) => event.replaceAll(/[._]/g, ' ') },
          { title: texts.who, cell: ({ actor, names }) => <Actor actor={actor} names={names} /> },
          { title: texts.when, width: '13rem', cell: ({ changed_at }) => <Time value={changed_at} /> },
          {
            title: texts.record,
            wraps: true,
            cell: ({ record }) => (
              <details>
                <summary>{texts.show}</summary>
                <pre className="wrap" style={{ whiteSpace: 'pre-wrap', fontSize: '0.75rem' }}>
                  {JSON.stringify(record, null, 2)}
                </pre>
              </details>
            ),
          },
        ]}
        empty={<ListEmpty title={texts.noChangeYet} />}
      />
    </Section>
  );
}
