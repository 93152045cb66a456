import { useState, type ReactNode } from 'react';
import { Anchor, Button, Checkbox, Group, NumberInput, Paper, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { api } from '../../shell/api.ts';
import { Link } from 'react-router';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { useFormFaults } from '../form-faults.ts';
import type { Ruling, Trial } from './case-api.ts';
import { State } from './case-words.tsx';
import { useEnvironment } from './environment.tsx';
import * as texts from './policy-texts.ts';
import { ReasonCodes } from './reason-codes.tsx';

/** Tries a version on the most recently decided cases. Nothing is written. */
export function PolicyTrial({ version }: { readonly version: string }): ReactNode {
  const { name: environment } = useEnvironment();
  const form = useForm<{ readonly last_decided: number | string }>({
    initialValues: { last_decided: 100 },
    validate: {
      last_decided: (count) =>
        Number.isInteger(Number(count)) && Number(count) >= 1 && Number(count) <= 500 ? null : texts.countFault,
    },
  });
  const [isWhole, setWhole] = useState(false);
  const trial = api.useMutation('post', '/admin/case-gate/admin/v1/policies/{policy_version}/try');
  const submitting = useFormFaults(form, trial.error);
  const run = (): void => {
    form.resetDirty();
    trial.mutate({
      params: { path: { policy_version: version }, query: { environment } },
      body: { last_decided: Number(form.values.last_decided) },
    });
  };
  return (
    <Section title={texts.tryItOnDecidedCases}>
      <Paper>
        <Stack gap="md">
          <form noValidate onSubmit={submitting(run)}>
            <Group align="flex-end" gap="sm">
              <NumberInput
                label={texts.casesDecidedLast}
                min={1}
                max={500}
                allowDecimal={false}
                w={170}
                {...form.getInputProps('last_decided')}
              />
              <Button type="submit" loading={trial.isPending}>
                {texts.tryIt}
              </Button>
            </Group>
          </form>
          {trial.isError && <ProblemView error={trial.error} onRetry={run} />}
          {trial.data !== undefined && (
            <>
              <Text fw={600} aria-live="polite">
                {trial.data.tried === 0
                  ? texts.noCaseHasBeenDecidedYet
                  : texts.casesWouldChange(trial.data.changes, trial.data.tried, trial.data.unchanged)}
              </Text>
              {trial.data.unchanged > 0 && (
                <Checkbox
                  label={texts.showThoseThatStayToo}
                  checked={isWhole}
                  onChange={(event) => setWhole(event.currentTarget.checked)}
                />
              )}
              <TriedCases rows={trial.data.cases.filter(({ changes }) => isWhole || changes)} />
            </>
          )}
        </Stack>
      </Paper>
    </Section>
  );
}

function TriedCases({ rows }: { readonly rows: Trial['cases'] }): ReactNode {
  const { to } = useEnvironment();
  const ruling = ({ decision, reason_codes }: Ruling) => (
    <div>
      <State value={decision} />
      <Text size="xs" c="dimmed">
        <ReasonCodes codes={reason_codes} />
      </Text>
    </div>
  );
  return (
    <PlainTable
      label={texts.triedCases}
      rows={rows}
      rowKey={({ case_id }) => case_id}
      columns={[
        {
          title: texts.theCase,
          cell: ({ case_id, subject_ref }) => (
            <Anchor component={Link} to={to(`queue/${case_id}`)} size="sm">
              {subject_ref}
            </Anchor>
          ),
        },
        { title: texts.decided, width: '9rem', cell: ({ decided_at }) => <Time value={decided_at} form="day" /> },
        { title: texts.under, width: '8rem', cell: ({ policy_version }) => policy_version },
        { title: texts.was, width: '13rem', cell: ({ was }) => ruling(was) },
        { title: texts.wouldBe, width: '13rem', cell: ({ would_be }) => ruling(would_be) },
        {
          title: texts.rulesThatHold,
          width: '9rem',
          cell: ({ rules }) =>
            rules.flatMap((says, index) => (says === 'holds' ? [index + 1] : [])).join(', ') || texts.none,
        },
        {
          title: texts.result,
          width: '8rem',
          cell: ({ changes }) =>
            changes ? (
              <StateBadge tone="wait">{texts.changes}</StateBadge>
            ) : (
              <StateBadge tone="plain">{texts.stays}</StateBadge>
            ),
        },
      ]}
      empty={<ListEmpty title={texts.nothingWouldChange} icon="check" />}
    />
  );
}
