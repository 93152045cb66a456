import type { ReactNode } from 'react';
import { Button, Code, Group, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { api } from '../../shell/api.ts';
import { CopyButton } from '../../shell/code-text.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { Unread } from '../../shell/list-states.tsx';
import { Fact, Page, Section } from '../../shell/page.tsx';
import { saveFile } from '../../shell/save-stream.ts';
import { Time } from '../../shell/time.tsx';
import { Actor } from '../actor.tsx';
import { readPack, type ReadPack } from '../prove/fetch-proof.ts';
import { ReportView } from '../verify/report-view.tsx';
import { packPathOf, type CaseDetail } from './case-api.ts';
import * as texts from './case-texts.ts';
import { eventInWords } from './case-timeline.tsx';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import { ReasonCodes } from './reason-codes.tsx';
import classes from './pack-page.module.css';

type Pack = ReadPack['pack'];

/** The pack of a case as an assessor reads and prints it, with the check of its proofs. */
export function PackPage(): ReactNode {
  const { id = '' } = useParams<{ id: string }>();
  const { name: environment, to } = useEnvironment();
  const found = api.useQuery('get', '/admin/case-gate/admin/v1/cases/{case_id}', {
    params: { path: { case_id: id }, query: { environment } },
  });
  const isDraft = found.data?.seals.some(({ sealed_at }) => sealed_at !== null) === false;
  const path = packPathOf(id, environment, isDraft);
  const read = useQuery({
    queryKey: ['get', path],
    queryFn: ({ signal }) => readPack(path, signal),
    enabled: found.data !== undefined,
    // Each read is an export in the audit.
    staleTime: Infinity,
    retry: false,
  });
  const file = `${id}${isDraft ? '.draft' : ''}.pack.json`;
  const { data } = read;
  return (
    <Page
      title={found.data === undefined ? texts.packForAnAssessor : texts.packOf(found.data.external_ref ?? id)}
      above={[
        { title: texts.queue, to: to('queue') },
        { title: found.data?.external_ref ?? texts.theCase, to: to(`queue/${id}`) },
      ]}
      intro={texts.packIntro}
      actions={
        data !== undefined && (
          <div className={classes['actions']}>
            <Button onClick={() => globalThis.print()}>{texts.print}</Button>
            <Button
              variant="default"
              onClick={() => saveFile(new Blob([data.bytes], { type: 'application/json' }), file)}
            >
              {texts.saveAsAFile}
            </Button>
          </div>
        )
      }
    >
      {found.isError ? <Unread read={found} /> : <Unread read={read} />}
      {data !== undefined && found.data !== undefined && <PackBody read={data} found={found.data} />}
    </Page>
  );
}

interface BodyProps {
  readonly read: ReadPack;
  readonly found: CaseDetail;
}

const PackBody = ({ read: { pack, checked, note }, found }: BodyProps): ReactNode => (
  <Stack gap="lg" className={classes['pack'] ?? ''}>
    <Paper>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="md">
        {found.external_ref !== null && <Fact label={texts.reference}>{found.external_ref}</Fact>}
        <Fact label={texts.theCase}>{pack.case_id}</Fact>
        <Fact label={texts.subject}>{pack.subject_ref}</Fact>
        <Fact label={texts.status}>
          <State value={pack.status} />
        </Fact>
        <Fact label={texts.packMade}>
          <Time value={pack.generated_at} />
        </Fact>
      </SimpleGrid>
    </Paper>
    <Section title={texts.check}>
      <Paper>
        {note !== undefined && <Text size="sm">{note}</Text>}
        {checked === undefined && <Text size="sm">{texts.draftHasNothingInTheLedger}</Text>}
        {checked !== undefined && 'why' in checked && <Text size="sm">{texts.notChecked(checked.why)}</Text>}
        {checked !== undefined && 'report' in checked && (
          <>
            <Text size="sm" c="dimmed">
              {texts.checkedInThisBrowser}
            </Text>
            <ReportView report={checked.report} />
          </>
        )}
      </Paper>
    </Section>
    <Decisions decisions={pack.decisions} names={found.names} />
    <Attachments attachments={pack.attachments} references={found.attachments} />
    <Seals seals={pack.seals} />
    <Events timeline={pack.timeline} names={found.names} />
    <Text size="xs" c="dimmed">
      {texts.packHasIdsAlone}
    </Text>
    <Text size="xs" c="dimmed" className="wrap">
      {texts.hashOfThisPack(pack.pack_hash)}
    </Text>
  </Stack>
);

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

const Decisions = ({ decisions, names }: Pick<Pack, 'decisions'> & Pick<CaseDetail, 'names'>): ReactNode => (
  <Section title={texts.decisionsCounted(decisions.length)}>
    <PlainTable
      label={texts.decisions}
      rows={decisions}
      rowKey={({ decision_id: id }) => textOf(id)}
      columns={[
        { title: texts.outcome, width: '8rem', cell: ({ decision }) => <State value={textOf(decision)} /> },
        { title: texts.policyVersion, width: '10rem', cell: ({ policy_version: version }) => textOf(version) },
        {
          title: texts.reasons,
          cell: ({ reason_codes: codes }) => <ReasonCodes codes={Array.isArray(codes) ? codes.map(textOf) : []} />,
        },
        { title: texts.decided, width: '12rem', cell: ({ decided_at: at }) => <Time value={textOf(at)} /> },
        { title: texts.by, cell: ({ decided_by: by }) => <Actor actor={textOf(by)} names={names} /> },
      ]}
      isDense
      empty={<Text p="md">{texts.notDecided}</Text>}
    />
  </Section>
);

interface AttachmentsProps extends Pick<Pack, 'attachments'> {
  readonly references: CaseDetail['attachments'];
}

const Attachments = ({ attachments, references }: AttachmentsProps): ReactNode => (
  <Section title={texts.attachmentsCounted(attachments.length)}>
    <PlainTable
      label={texts.attachments}
      rows={attachments}
      rowKey={({ attachment_id: id }) => id}
      columns={[
        {
          title: texts.file,
          cell: ({ attachment_id: id }) => <FileOf id={id} reference={referenceOf(references, id)} />,
        },
        {
          title: texts.mediaType,
          width: '11rem',
          cell: ({ attachment_id: id }) => referenceOf(references, id)?.media_type,
        },
        { title: texts.sha256OfItsBytes, width: '26rem', cell: ({ sha256 }) => <code>{sha256}</code> },
      ]}
      isDense
      empty={<Text p="md">{texts.nothingIsAttached}</Text>}
    />
  </Section>
);

type Reference = CaseDetail['attachments'][number];

const referenceOf = (references: readonly Reference[], id: string): Reference | undefined =>
  references.find(({ attachment_id }) => attachment_id === id);

/** An attachment by its label, or the last part of its reference. */
const FileOf = ({ id, reference }: { readonly id: string; readonly reference: Reference | undefined }): ReactNode => (
  <Group gap={4} wrap="nowrap">
    <span className="wrap">{reference?.label ?? reference?.ref.split('/').at(-1) ?? id}</span>
    <CopyButton value={id} label={texts.copyTheIdOfTheAttachment} />
  </Group>
);

const Seals = ({ seals }: Pick<Pack, 'seals'>): ReactNode => (
  <Section title={texts.sealsCounted(seals.length)}>
    {seals.map(({ seal_hash: hash, ledger_record_id: recordId, document, proof }) => (
      <Paper key={hash}>
        <Stack gap="xs">
          <Fact label={texts.recordInTheLedger}>{recordId}</Fact>
          <Fact label={texts.hashOfTheSeal}>
            <code>{hash}</code>
          </Fact>
          {proof === null && <Text size="sm">{texts.itsLedgerHasNoPublicLog}</Text>}
          <Code block aria-label={texts.whatWasSealed} tabIndex={0} className={classes['document'] ?? ''}>
            {JSON.stringify(document, null, 2)}
          </Code>
        </Stack>
      </Paper>
    ))}
    {seals.length === 0 && <Text size="sm">{texts.nothingIsSealed}</Text>}
  </Section>
);

const Events = ({ timeline, names }: Pick<Pack, 'timeline'> & Pick<CaseDetail, 'names'>): ReactNode => (
  <Section title={texts.timelineCounted(timeline.length)}>
    <PlainTable
      label={texts.timeline}
      rows={timeline}
      rowKey={({ seq }) => String(seq)}
      columns={[
        { title: texts.no, width: '4rem', align: 'right', cell: ({ seq }) => seq },
        { title: texts.when, width: '12rem', cell: ({ at }) => <Time value={at} /> },
        {
          title: texts.what,
          cell: ({ event, data }) => (
            <>
              <strong>{eventInWords(event)}</strong>
              <Text size="xs" c="dimmed" className="wrap">
                {JSON.stringify(data)}
              </Text>
            </>
          ),
        },
        { title: texts.by, width: '14rem', cell: ({ actor }) => <Actor actor={actor} names={names} /> },
        { title: texts.hash, width: '14rem', cell: ({ hash }) => <code>{hash}</code> },
      ]}
      isDense
      empty={null}
    />
  </Section>
);
