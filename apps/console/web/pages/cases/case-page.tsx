import { useState, type ReactNode } from 'react';
import { Button, Group, Paper, SimpleGrid, Text } from '@mantine/core';
import { useParams } from 'react-router';
import { api, server } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListLoading } from '../../shell/list-states.tsx';
import { Fact, Page, Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { Time } from '../../shell/time.tsx';
import { Actor } from '../actor.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { AttachDialog } from './attach-dialog.tsx';
import { packPathOf, type CaseDetail } from './case-api.ts';
import { CaseAttachments } from './case-attachments.tsx';
import { CaseOutcome, useFocusOnOutcome } from './case-outcome.tsx';
import { CasePack } from './case-pack.tsx';
import { CaseTimeline } from './case-timeline.tsx';
import { State } from './case-words.tsx';
import { provableCase } from '../prove/provable.ts';
import { ProveButton } from '../prove/prove-button.tsx';
import * as texts from './case-texts.ts';
import { DecidePanel } from './decide-panel.tsx';
import { useEnvironment } from './environment.tsx';
import { ReasonCodes } from './reason-codes.tsx';
import { Subject } from './subject-link.tsx';

/** One case: subject, attachments, decisions, seals, and the possible actions. */
export function CasePage(): ReactNode {
  const { id = '' } = useParams<{ id: string }>();
  const { name: environment, to } = useEnvironment();
  const found = api.useQuery('get', '/admin/case-gate/admin/v1/cases/{case_id}', {
    params: { path: { case_id: id }, query: { environment } },
  });
  const focus = useFocusOnOutcome(found.data);
  const above = [{ title: texts.queue, to: to('queue') }];
  if (found.data === undefined)
    return (
      <Page title={texts.theCase} above={above}>
        {found.isError ? <ProblemView error={found.error} onRetry={() => void found.refetch()} /> : <ListLoading />}
      </Page>
    );
  const { case_id, external_ref } = found.data;
  return (
    <Page
      title={external_ref ?? texts.theCase}
      above={above}
      intro={<CodeText value={case_id} label={texts.copyTheCaseId} />}
      actions={
        <>
          {found.data.sealed_at !== null && (
            <ProveButton
              of={provableCase(
                { caseId: case_id, packPath: packPathOf(case_id, environment) },
                external_ref ?? case_id,
              )}
            />
          )}
          <Actions found={found.data} />
        </>
      }
    >
      <CaseOutcome found={found.data} focus={focus} />
      <Facts found={found.data} />
      <DecidePanel key={case_id} found={found.data} onDecided={focus.onOutcome} />
      <CaseAttachments attachments={found.data.attachments} />
      <Decisions found={found.data} />
      <CasePack found={found.data} />
      <CaseTimeline caseId={case_id} />
    </Page>
  );
}

const UNDECIDED = ['received', 'in_review'];

function Actions({ found }: { readonly found: CaseDetail }): ReactNode {
  const { name: environment, isOperator, may, reload } = useEnvironment();
  const [open, setOpen] = useState<'attach' | 'withdraw'>();
  const close = () => setOpen(undefined);
  const dialog = {
    onClose: close,
    onDone: () => {
      close();
      reload();
    },
  };
  if (!may('cases:review')) return null;
  return (
    <>
      {UNDECIDED.includes(found.status) && (
        <>
          <Button variant="default" onClick={() => setOpen('attach')}>
            {texts.attach}
          </Button>
          {isOperator && (
            <Button variant="default" onClick={() => setOpen('withdraw')}>
              {texts.withdraw}
            </Button>
          )}
        </>
      )}
      {open === 'attach' && <AttachDialog {...dialog} caseId={found.case_id} />}
      {open === 'withdraw' && (
        <ConfirmDialog
          {...dialog}
          title={texts.withdrawThisCase}
          action={texts.withdraw}
          tone="danger"
          run={() =>
            server.POST('/admin/case-gate/admin/v1/cases/{case_id}/withdraw', {
              params: { path: { case_id: found.case_id }, query: { environment } },
              body: {},
            })
          }
        >
          <Text size="sm">{texts.withdrawThisCaseHint}</Text>
        </ConfirmDialog>
      )}
    </>
  );
}

function Facts({ found }: { readonly found: CaseDetail }): ReactNode {
  const metadata = Object.entries(found.metadata);
  return (
    <Paper>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="md">
        <Fact label={texts.status}>
          <State value={found.status} />
        </Fact>
        <Fact label={texts.subject}>
          <Subject subjectRef={found.subject_ref} />
        </Fact>
        <Fact label={texts.outcome}>{found.decision === null ? texts.noneYet : <State value={found.decision} />}</Fact>
        <Fact label={texts.policyVersion}>
          {found.policy_version ?? found.requested_policy_version ?? texts.noneYet}
        </Fact>
        <Fact label={texts.venues}>{found.venue_ids.join(', ') || texts.noneGiven}</Fact>
        <Fact label={texts.opened}>
          <Time value={found.created_at} />
        </Fact>
        <Fact label={found.decided_at === null ? texts.expires : texts.decided}>
          <Time value={found.decided_at ?? found.expires_at} />
        </Fact>
        <Fact label={texts.sealed}>{found.sealed_at === null ? texts.notYet : <Time value={found.sealed_at} />}</Fact>
        {found.ledger_record_id !== null && (
          <Fact label={texts.ledgerRecord}>
            <CodeText value={found.ledger_record_id} label={texts.copyTheLedgerRecord} short={26} />
          </Fact>
        )}
        {metadata.length > 0 && (
          <Fact label={texts.metadata}>{metadata.map(([name, value]) => `${name}: ${value}`).join(', ')}</Fact>
        )}
      </SimpleGrid>
    </Paper>
  );
}

function Decisions({ found }: { readonly found: CaseDetail }): ReactNode {
  if (found.decisions.length === 0) return null;
  const sealOf = (version: string) => found.seals.find(({ policy_version }) => policy_version === version);
  return (
    <Section title={texts.decisions}>
      <PlainTable
        label={texts.decisions}
        rows={found.decisions}
        rowKey={({ decision_id }) => decision_id}
        columns={[
          { title: texts.outcome, width: '8rem', cell: ({ decision }) => <State value={decision} /> },
          { title: texts.policyVersion, width: '9rem', cell: ({ policy_version }) => policy_version },
          { title: texts.reasons, width: '15rem', cell: ({ reason_codes }) => <ReasonCodes codes={reason_codes} /> },
          { title: texts.decided, width: '11rem', cell: ({ decided_at }) => <Time value={decided_at} /> },
          {
            title: texts.by,
            width: '12rem',
            cell: ({ decided_by }) => <Actor actor={decided_by} names={found.names} />,
          },
          {
            title: texts.validUntil,
            width: '9rem',
            cell: ({ valid_until }) => (valid_until === null ? texts.noEnd : <Time value={valid_until} form="day" />),
          },
          {
            title: texts.seal,
            cell: ({ policy_version }) => <SealOf seal={sealOf(policy_version)} caseId={found.case_id} />,
          },
        ]}
        empty={null}
      />
    </Section>
  );
}

interface SealOfProps {
  readonly seal: CaseDetail['seals'][number] | undefined;
  readonly caseId: string;
}

function SealOf({ seal, caseId }: SealOfProps): ReactNode {
  const { name: environment } = useEnvironment();
  if (seal === undefined) return texts.notSealed;
  return (
    <Group gap={6}>
      <State value={seal.sealed_at === null ? 'sealing' : 'sealed'} />
      <CodeText value={seal.seal_hash} label={texts.copyTheHashOfTheSeal} short={10} />
      {seal.sealed_at !== null && (
        <ProveButton
          of={provableCase(
            { caseId, packPath: packPathOf(caseId, environment), sealHash: seal.seal_hash },
            texts.decidedUnder(caseId, seal.policy_version),
          )}
          what={texts.theDecisionUnder(seal.policy_version)}
        />
      )}
    </Group>
  );
}
