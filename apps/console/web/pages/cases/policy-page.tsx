import { useState, type ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useParams } from 'react-router';
import { api, server } from '../../shell/api.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListLoading } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { useFormFaults } from '../form-faults.ts';
import type { Policy, PolicyRules, Ruling } from './case-api.ts';
import { State } from './case-words.tsx';
import { conditionInWords } from './condition-in-words.ts';
import { useEnvironment } from './environment.tsx';
import { ReasonCodes } from './reason-codes.tsx';
import { PolicyTrial } from './policy-trial.tsx';
import { parseRules, rulesText } from './parse-rules.ts';
import * as texts from './policy-texts.ts';
import { RulesInput } from './rules-input.tsx';

/** One policy version: rules, trial decisions, and status changes. */
export function PolicyPage(): ReactNode {
  const { version = '' } = useParams<{ version: string }>();
  const { name: environment, isOperator, may, to } = useEnvironment();
  const found = api.useQuery('get', '/admin/case-gate/admin/v1/policies/{policy_version}', {
    params: { path: { policy_version: version }, query: { environment } },
  });
  const policy = found.data;
  return (
    <Page
      title={version}
      above={[{ title: texts.policies, to: to('policies') }]}
      {...(policy !== undefined && {
        intro: <State value={policy.status} />,
        actions: isOperator && <Steps policy={policy} />,
      })}
    >
      {found.isError && <ProblemView error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <ListLoading />}
      {policy !== undefined && (
        <>
          <Rules rules={policy.rules as PolicyRules | null} />
          {may('policies:draft') && policy.status === 'draft' && <EditRules key={policy.updated_at} policy={policy} />}
          {may('policies:draft') && policy.rules !== null && (
            <PolicyTrial key={policy.updated_at} version={policy.policy_version} />
          )}
        </>
      )}
    </Page>
  );
}

function Steps({ policy }: { readonly policy: Policy }): ReactNode {
  const { name: environment, reload } = useEnvironment();
  const [to, setTo] = useState<'active' | 'retired'>();
  const done = () => {
    setTo(undefined);
    reload();
  };
  return (
    <>
      {policy.status === 'draft' && <Button onClick={() => setTo('active')}>{texts.activate}</Button>}
      {policy.status !== 'retired' && (
        <Button variant="default" onClick={() => setTo('retired')}>
          {texts.retire}
        </Button>
      )}
      {to !== undefined && (
        <ConfirmDialog
          title={to === 'active' ? texts.activateThisVersion : texts.retireThisVersion}
          action={to === 'active' ? texts.activate : texts.retire}
          onDone={done}
          onClose={() => setTo(undefined)}
          run={() =>
            server.PATCH('/admin/case-gate/admin/v1/policies/{policy_version}', {
              params: { path: { policy_version: policy.policy_version }, query: { environment } },
              body: { status: to },
            })
          }
        >
          <Text size="sm">{to === 'active' ? texts.activateThisVersionHint : texts.retireThisVersionHint}</Text>
        </ConfirmDialog>
      )}
    </>
  );
}

function Rules({ rules }: { readonly rules: PolicyRules | null }): ReactNode {
  if (rules === null)
    return (
      <Paper>
        <Text size="sm">{texts.thisVersionHasNoRules}</Text>
      </Paper>
    );
  const ruling = ({ decision, reason_codes }: Ruling) => (
    <Group gap={6}>
      <State value={decision} />
      <Text size="xs" component="span">
        <ReasonCodes codes={reason_codes} />
      </Text>
    </Group>
  );
  const written = rules.rules.map((rule, index) => ({
    name: String(index + 1),
    when: conditionInWords(rule.when),
    ruling: rule,
  }));
  return (
    <Section title={texts.rules}>
      <PlainTable
        label={texts.rules}
        rows={[...written, { name: '–', when: texts.otherwise, ruling: rules.default }]}
        rowKey={({ name }) => name}
        columns={[
          { title: texts.rule, width: '4rem', cell: ({ name }) => name },
          { title: texts.ifWord, cell: ({ when }) => when },
          { title: texts.then, width: '20rem', cell: (rule) => ruling(rule.ruling) },
        ]}
        empty={null}
      />
    </Section>
  );
}

function EditRules({ policy }: { readonly policy: Policy }): ReactNode {
  const { name: environment, reload } = useEnvironment();
  const form = useForm({ initialValues: { rules: rulesText(policy.rules) } });
  const save = api.useMutation('patch', '/admin/case-gate/admin/v1/policies/{policy_version}', {
    onSuccess: () => {
      form.resetDirty();
      return reload();
    },
  });
  const submitting = useFormFaults(form, save.error);
  const parsed = parseRules(form.values.rules);
  const send = (): void =>
    save.mutate({
      params: { path: { policy_version: policy.policy_version }, query: { environment } },
      body: { rules: parsed.rules as PolicyRules | null },
    });
  return (
    <Section title={texts.changeTheDraft}>
      <Paper component="form" noValidate onSubmit={submitting(send)}>
        <Stack gap="sm">
          <RulesInput text={form.values.rules} onChange={(rules) => form.setFieldValue('rules', rules)} />
          {save.isError && <ProblemView error={save.error} />}
          <Button
            type="submit"
            style={{ alignSelf: 'flex-start' }}
            disabled={parsed.fault !== undefined || !form.isDirty()}
            loading={save.isPending}
          >
            {texts.saveTheDraft}
          </Button>
        </Stack>
      </Paper>
    </Section>
  );
}
