import { useState, type ReactNode } from 'react';
import { Anchor, Button, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link, useNavigate } from 'react-router';
import { api, listed } from '../../shell/api.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { exportOf, type PolicyRules } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import { parseRules } from './parse-rules.ts';
import { RulesInput } from './rules-input.tsx';

/** The versions of the policy. A draft is tried before activation; retiring an active version is final. */
export function PoliciesPage(): ReactNode {
  const { name, isOperator, may, to } = useEnvironment();
  const [isNew, setNew] = useState(false);
  return (
    <Page
      title="Policies"
      intro="Versions that decide cases. A draft can be changed and tried; an activated version never changes again."
      actions={may('policies:draft') && <Button onClick={() => setNew(true)}>New draft</Button>}
    >
      <CursorTable
        label="Policy versions"
        tools={{
          searches: 'the version',
          order: 'id',
          exports: isOperator ? exportOf(name, 'policies') : undefined,
        }}
        page={listed('/admin/case-gate/admin/v1/policies', { query: { environment: name } })}
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
  const { name: environment, reload, to } = useEnvironment();
  const navigate = useNavigate();
  const make = api.useMutation('post', '/admin/case-gate/admin/v1/policies', {
    onSuccess: async ({ policy_version }) => {
      reload();
      await navigate(to(`policies/${encodeURIComponent(policy_version)}`));
    },
  });
  const form = useForm({
    initialValues: { policy_version: '', rules: EXAMPLE },
    validate: { policy_version: filled },
  });
  return (
    <FormDialog
      title="New draft"
      size="xl"
      action="Create draft"
      form={form}
      doing={make}
      onSubmit={({ policy_version: version, rules }) =>
        make.mutate({
          params: { query: { environment } },
          body: { policy_version: version.trim(), rules: parseRules(rules).rules as PolicyRules | null },
        })
      }
      isReady={parseRules(form.values.rules).fault === undefined}
      onClose={onClose}
    >
      <TextInput
        label="Version"
        required
        placeholder="2026-12"
        maxLength={64}
        {...form.getInputProps('policy_version')}
      />
      <RulesInput text={form.values.rules} onChange={(rules) => form.setFieldValue('rules', rules)} />
    </FormDialog>
  );
}
