import { useState, type FormEvent, type ReactNode } from 'react';
import { Button, Group, Paper, Select, Stack, TagsInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { getJson } from '../../shell/console-fetch.ts';
import { Page } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { adminPath, type Policy, type Venue, type Page as PageOf } from './case-api.ts';
import { useEnvironment, useRead } from './environment.tsx';

/**
 * Opens a case. The idempotency key belongs to the form, so a retry after a lost response cannot open a second case.
 */
export function NewCasePage(): ReactNode {
  const { name, to, reload } = useEnvironment();
  const navigate = useNavigate();
  const [key] = useState(() => crypto.randomUUID());
  const [venues, setVenues] = useState<string[]>([]);
  const known = useRead<PageOf<Venue>>('/venues', { limit: '200' });
  const policies = useRead<PageOf<Policy>>('/policies', { limit: '200' });
  const [policy, setPolicy] = useState<string | null>(null);
  const create = useMutation({
    mutationFn: (body: object) =>
      getJson<{ case_id: string }>(adminPath('/cases', { environment: name }), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
      }),
    onSuccess: async ({ case_id }) => {
      reload();
      await navigate(to(`queue/${case_id}`), { replace: true });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const external = String(form.get('external')).trim();
    create.mutate({
      subject_ref: String(form.get('subject')).trim(),
      ...(venues.length > 0 && { venue_ids: venues }),
      ...(external !== '' && { external_ref: external }),
      ...(policy !== null && { requested_policy_version: policy }),
    });
  };
  return (
    <Page title="New case" above={[{ title: 'Queue', to: to('queue') }]}>
      <Paper component="form" onSubmit={submit} maw={640}>
        <Stack gap="md">
          <TextInput
            name="subject"
            label="Subject"
            placeholder="subj_…"
            required
            maxLength={69}
            pattern="subj_[A-Za-z0-9_-]{1,64}"
            title="subj_ and up to 64 letters, digits, hyphens and underscores"
          />
          <TagsInput
            label="Venues"
            description="Where they want to enter; * is every active venue. Empty: none yet."
            value={venues}
            onChange={setVenues}
            data={['*', ...(known.data?.items ?? []).map(({ venue_id }) => venue_id)]}
          />
          <TextInput name="external" label="Your reference" maxLength={256} />
          <Select
            label="Policy version asked for"
            clearable
            value={policy}
            onChange={setPolicy}
            data={(policies.data?.items ?? [])
              .filter(({ status }) => status === 'active')
              .map(({ policy_version }) => policy_version)}
            clearButtonProps={{ 'aria-label': 'Clear the policy version' }}
          />
          {create.isError && <ProblemView error={create.error} />}
          <Group>
            <Button type="submit" loading={create.isPending}>
              Open the case
            </Button>
            <Button variant="default" onClick={() => void navigate(to('queue'))}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Page>
  );
}
