import { useState, type ReactNode } from 'react';
import { Anchor, Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { exportOf, type Page as PageOf, type Policy, type PolicyRules } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import { parseRules } from './parse-rules.ts';
import { RulesInput } from './rules-input.tsx';

/** The versions of the policy. A draft is tried before activation; retiring an active version is final. */
export function PoliciesPage(): ReactNode {
  const { name, isOperator, may, read, to } = useEnvironment();
  const [isNew, setNew] = useState(false);
  return (
    <Page
      title="Policies"
      intro="Versions that decide cases. A draft can be changed and tried; an activated version never changes again."
      actions={may('policies:draft') && <Button onClick={() => setNew(true)}>New draft</Button>}
    >
      <CursorTable
        label="Policy versions"
        queryKey={['cases', name, 'policies']}
        tools={{
          searches: 'the version',
          order: 'id',
          exports: isOperator ? exportOf(name, 'policies') : undefined,
        }}
        load={(cursor, _signal, asked) => read<PageOf<Policy>>('/policies', { ...asked, cursor, limit: '50' })}
        rowKey={({ policy_version }) => policy_version}
        columns={[
          {
            title: 'Version',
            sort: 'id',
            cell: ({ policy_version }) => (
              <Anchor component={Link} to={to(`policies/${encodeURIComponent(policy_version)}`)} fw={600} size="sm">
                {policy_version}
              </Anchor>
            ),
          },
          { title: 'State', width: '8rem', cell: ({ status }) => <State value={status} /> },
          {
            title: 'Rules',
            width: '10rem',
            cell: ({ rules }) => (rules === null ? 'None: by person' : String((rules as PolicyRules).rules.length)),
          },
          {
            title: 'Made',
            width: '9rem',
            sort: '-created_at',
            cell: ({ created_at }) => <Time value={created_at} form="ago" />,
          },
          {
            title: 'Changed',
            width: '9rem',
            sort: '-updated_at',
            cell: ({ updated_at }) => <Time value={updated_at} form="ago" />,
          },
        ]}
        empty={<ListEmpty title="No policy yet">Make a draft, try it, activate it.</ListEmpty>}
      />
      {isNew && <DraftDialog onClose={() => setNew(false)} />}
    </Page>
  );
}

const EXAMPLE = JSON.stringify(
  {
    rules: [
      { when: { '>=': [{ var: 'attachment_count' }, 2] }, decision: 'approve', reason_codes: ['DOCUMENTS_COMPLETE'] },
    ],
    default: { decision: 'refer', reason_codes: ['DOCUMENTS_MISSING'] },
  },
  null,
  2,
);

function DraftDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { send, reload, to } = useEnvironment();
  const navigate = useNavigate();
  const [version, setVersion] = useState('');
  const [text, setText] = useState(EXAMPLE);
  const parsed = parseRules(text);
  const make = useMutation({
    mutationFn: () => send('/policies', { policy_version: version.trim(), rules: parsed.rules }),
    onSuccess: async () => {
      reload();
      await navigate(to(`policies/${encodeURIComponent(version.trim())}`));
    },
  });
  return (
    <FormDialog
      title="New draft"
      size="xl"
      action="Create draft"
      doing={make}
      onSubmit={() => make.mutate()}
      isReady={parsed.fault === undefined}
      onClose={onClose}
    >
      <TextInput
        label="Version"
        required
        pattern={'[A-Za-z0-9._\\-]{1,64}'}
        placeholder="2026-12"
        value={version}
        onChange={(event) => setVersion(event.currentTarget.value)}
      />
      <RulesInput text={text} onChange={setText} />
    </FormDialog>
  );
}
