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
import * as texts from './policy-texts.ts';
import { RulesInput } from './rules-input.tsx';

/** The versions of the policy. A draft is tried before activation; retiring an active version is final. */
export function PoliciesPage(): ReactNode {
  const { name, isOperator, may, to } = useEnvironment();
  const [isNew, setNew] = useState(false);
  return (
    <Page
      title={texts.policies}
      intro={texts.policiesIntro}
      actions={may('policies:draft') && <Button onClick={() => setNew(true)}>{texts.newDraft}</Button>}
    >
      <CursorTable
        label={texts.policyVersions}
        tools={{
          searches: texts.wordsInTheVersion,
          order: 'id',
          exports: isOperator ? exportOf(name, 'policies') : undefined,
        }}
        page={listed('/admin/case-gate/admin/v1/policies', { query: { environment: name } })}
        rowKey={({ policy_version }) => policy_version}
        columns={[
          {
            title: texts.version,
            sort: 'id',
            cell: ({ policy_version }) => (
              <Anchor component={Link} to={to(`policies/${encodeURIComponent(policy_version)}`)} fw={600} size="sm">
                {policy_version}
              </Anchor>
            ),
          },
          { title: texts.state, width: '8rem', cell: ({ status }) => <State value={status} /> },
          {
            title: texts.rules,
            width: '10rem',
            cell: ({ rules }) => (rules === null ? texts.noneByPerson : String((rules as PolicyRules).rules.length)),
          },
          {
            title: texts.made,
            width: '9rem',
            sort: '-created_at',
            cell: ({ created_at }) => <Time value={created_at} form="ago" />,
          },
          {
            title: texts.changed,
            width: '9rem',
            sort: '-updated_at',
            cell: ({ updated_at }) => <Time value={updated_at} form="ago" />,
          },
        ]}
        empty={<ListEmpty title={texts.noPolicyYet}>{texts.noPolicyYetHint}</ListEmpty>}
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
      title={texts.newDraft}
      size="xl"
      action={texts.createDraft}
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
        label={texts.version}
        required
        placeholder="2026-12"
        maxLength={64}
        {...form.getInputProps('policy_version')}
      />
      <RulesInput text={form.values.rules} onChange={(rules) => form.setFieldValue('rules', rules)} />
    </FormDialog>
  );
}
