import { useState, type ReactNode } from 'react';
import { Button, Group, Paper, Select, Stack, TagsInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useNavigate } from 'react-router';
import { api } from '../../shell/api.ts';
import { Page } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { useFormFaults } from '../form-faults.ts';
import * as texts from './case-texts.ts';
import { useEnvironment, usePolicies, useVenues } from './environment.tsx';

const SUBJECT = /^subj_[A-Za-z0-9_-]{1,64}$/;

/**
 * Opens a case. The idempotency key belongs to the form, so a retry after a lost response cannot open a second case.
 */
export function NewCasePage(): ReactNode {
  const { name: environment, to, reload } = useEnvironment();
  const navigate = useNavigate();
  const [key] = useState(() => crypto.randomUUID());
  const venues = useVenues();
  const policies = usePolicies();
  const create = api.useMutation('post', '/admin/case-gate/admin/v1/cases', {
    onSuccess: async ({ case_id }) => {
      reload();
      await navigate(to(`queue/${case_id}`), { replace: true });
    },
  });
  const form = useForm({
    initialValues: {
      subject_ref: '',
      venue_ids: [] as string[],
      external_ref: '',
      requested_policy_version: null as string | null,
    },
    validate: {
      subject_ref: (subject) => (SUBJECT.test(subject.trim()) ? null : texts.subjectFault),
    },
  });
  const submit = useFormFaults(
    form,
    create.error,
  )((draft) =>
    create.mutate({
      params: { query: { environment }, header: { 'Idempotency-Key': key } },
      body: {
        subject_ref: draft.subject_ref.trim(),
        ...(draft.venue_ids.length > 0 && { venue_ids: draft.venue_ids }),
        ...(draft.external_ref.trim() !== '' && { external_ref: draft.external_ref.trim() }),
        ...(draft.requested_policy_version !== null && { requested_policy_version: draft.requested_policy_version }),
      },
    }),
  );
  return (
    <Page title={texts.newCase} above={[{ title: texts.queue, to: to('queue') }]}>
      <Paper component="form" noValidate onSubmit={submit} maw={640}>
        <Stack gap="md">
          <TextInput
            label={texts.subject}
            placeholder={texts.subjectExample}
            required
            maxLength={69}
            {...form.getInputProps('subject_ref')}
          />
          <TagsInput
            label={texts.venues}
            description={texts.venuesHint}
            data={['*', ...(venues.data?.items ?? []).map(({ venue_id }) => venue_id)]}
            {...form.getInputProps('venue_ids')}
          />
          <TextInput label={texts.yourReference} maxLength={256} {...form.getInputProps('external_ref')} />
          <Select
            label={texts.policyVersionAskedFor}
            clearable
            data={(policies.data?.items ?? [])
              .filter(({ status }) => status === 'active')
              .map(({ policy_version }) => policy_version)}
            clearButtonProps={{ 'aria-label': texts.clearThePolicyVersion }}
            {...form.getInputProps('requested_policy_version')}
          />
          {create.isError && <ProblemView error={create.error} />}
          <Group>
            <Button type="submit" loading={create.isPending}>
              {texts.openTheCase}
            </Button>
            <Button variant="default" onClick={() => void navigate(to('queue'))}>
              {texts.cancel}
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Page>
  );
}
