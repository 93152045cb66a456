import { useState, type ReactNode } from 'react';
import { Alert, Button, Paper, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import { useReload } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { ListLoading } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { provableEvidence } from '../prove/provable.ts';
import { ProveButton } from '../prove/prove-button.tsx';
import { EvidenceLife } from './evidence-life.tsx';
import { OfControl } from './of-control.tsx';
import { useOrganization } from './organization.tsx';
import { RatingHistory } from './rating-history.tsx';
import { RecordCreator, RecordEditor } from './record-editor.tsx';
import { KINDS } from './record-kinds.ts';
import { membersOf } from './record-schemas.ts';
import { Value } from './record-values.tsx';
import {
  recordQuery,
  removeRecord,
  RISKS,
  type Draft,
  type Kind,
  type RiskSchemas,
  type Versioned,
} from './risk-api.ts';
import * as texts from './texts.ts';
import classes from './risks.module.css';

export function NewRecordPage({ kind }: { readonly kind: Kind }): ReactNode {
  const { to } = useOrganization();
  const navigate = useNavigate();
  const reload = useReload();
  const { one, list, page } = KINDS[kind];
  return (
    <Page title={texts.newOf(one)} above={[{ title: list, to: to(page) }]}>
      <RecordCreator
        kind={kind}
        onLeave={() => void navigate(to(page))}
        onDone={({ id }) => {
          void reload(RISKS);
          void navigate(to(`${page}/${encodeURIComponent(id)}`), { replace: true });
        }}
      />
    </Page>
  );
}

/** One record: view, edit, delete. */
export function RecordPage({ kind }: { readonly kind: Kind }): ReactNode {
  const { inOrg, to } = useOrganization();
  const { id = '' } = useParams<{ id: string }>();
  const { list, page } = KINDS[kind];
  const found = useQuery(recordQuery(inOrg, kind, id));
  if (found.data !== undefined) return <Found key={id} kind={kind} found={found.data} />;
  return (
    <Page title={list} above={[{ title: list, to: to(page) }]}>
      {found.isError ? <ProblemView error={found.error} onRetry={() => void found.refetch()} /> : <ListLoading />}
    </Page>
  );
}

interface FoundProps {
  readonly kind: Kind;
  readonly found: Versioned<Kind>;
}

function Found({ kind, found }: FoundProps): ReactNode {
  const { id: orgId, inOrg, may, to } = useOrganization();
  const queries = useQueryClient();
  const reload = useReload();
  const [opened, setOpened] = useState<Versioned<Kind>>();
  const { list, page, resource } = KINDS[kind];
  const record = found.record as unknown as Draft;
  const title = String(record['title'] ?? record['name']);
  const isAnchored = kind === 'evidence' && record['ledgerRecordId'] !== null;
  const actions = opened === undefined && (
    <>
      {isAnchored && may('proof:read') && <ProveButton of={provableEvidence(orgId, { id: found.record.id, title })} />}
      {may(`${resource}:update`) && <Button onClick={() => setOpened(found)}>{texts.edit}</Button>}
      {may(`${resource}:delete`) && <Removal kind={kind} found={found} title={title} />}
    </>
  );
  return (
    <Page
      title={title}
      above={[{ title: list, to: to(page) }]}
      actions={actions}
      intro={<CodeText value={found.record.id} label={texts.copyTheId} />}
    >
      {opened === undefined ? (
        <>
          {kind === 'risks' && <AcceptanceNote risk={found.record as RiskSchemas['RiskView']} />}
          {kind === 'evidence' && <EvidenceLife evidence={found.record as RiskSchemas['EvidenceView']} />}
          <Facts kind={kind} record={record} />
          {kind === 'risks' && <RatingHistory risk={found.record as RiskSchemas['RiskView']} />}
          {kind === 'controls' && <OfControl id={found.record.id} />}
        </>
      ) : (
        <RecordEditor
          kind={kind}
          opened={opened}
          onLeave={() => setOpened(undefined)}
          onDone={(saved) => {
            queries.setQueryData(recordQuery(inOrg, kind, saved.record.id).queryKey, saved);
            setOpened(undefined);
            void reload(RISKS);
          }}
        />
      )}
    </Page>
  );
}

function AcceptanceNote({ risk }: { readonly risk: RiskSchemas['RiskView'] }): ReactNode {
  const { acceptance } = risk;
  if (acceptance === null) return null;
  return (
    <Alert
      color={acceptance.stale ? 'yellow' : 'gray'}
      variant="light"
      title={acceptance.stale ? texts.theAcceptanceNoLongerHolds : texts.accepted}
    >
      {texts.acceptedByUntil(
        <span className="wrap">{acceptance.acceptedBy}</span>,
        <Time value={acceptance.acceptedAt} form="day" />,
        <Time value={acceptance.expiresAt} form="day" />,
      )}{' '}
      {acceptance.stale && texts.acceptanceHasEnded}
    </Alert>
  );
}

/** Shown elsewhere on the page. */
const SHOWN_ABOVE: readonly string[] = ['title', 'name', 'acceptance', 'state'];

function Facts({ kind, record }: { readonly kind: Kind; readonly record: Draft }): ReactNode {
  const shown = membersOf(kind).filter(({ name }) => !SHOWN_ABOVE.includes(name) && record[name] !== undefined);
  return (
    <Paper>
      <dl className={classes['facts']}>
        {shown.map((field) => (
          <div key={field.name} style={{ display: 'contents' }}>
            <dt>{field.label}</dt>
            <dd>
              <Value field={field} value={record[field.name]} />
            </dd>
          </div>
        ))}
      </dl>
    </Paper>
  );
}

function Removal({
  kind,
  found,
  title,
}: {
  readonly kind: Kind;
  readonly found: Versioned<Kind>;
  readonly title: string;
}): ReactNode {
  const { inOrg, to } = useOrganization();
  const navigate = useNavigate();
  const reload = useReload();
  const [asked, setAsked] = useState(false);
  const { one, page } = KINDS[kind];
  return (
    <>
      <Button variant="default" onClick={() => setAsked(true)}>
        {texts.remove}
      </Button>
      {asked && (
        <ConfirmDialog
          title={texts.deleteThis(one)}
          action={texts.remove}
          tone="danger"
          onClose={() => setAsked(false)}
          run={() => removeRecord(inOrg, kind, { id: found.record.id, etag: found.etag })}
          onDone={() => {
            void navigate(to(page));
            void reload(RISKS);
          }}
        >
          <Text size="sm" className="wrap">
            {title}
          </Text>
          <Text size="sm">{texts.deleteHint}</Text>
        </ConfirmDialog>
      )}
    </>
  );
}
