import { useState, type ReactNode } from 'react';
import { Button, Code, Group, Paper, SegmentedControl, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { ListLoading } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import type { CaseDetail, Explanation, Outcome, Page, Policy, Ruling, Says } from './case-api.ts';
import { RuleSays, State, wordOf } from './case-words.tsx';
import { conditionInWords } from './condition-in-words.ts';
import { useEnvironment, useRead } from './environment.tsx';

const DECIDABLE = ['received', 'in_review', 'decided', 'sealed'];

interface PanelProps {
  readonly found: CaseDetail;
  /** Told of a decision that ends the review. */
  readonly onDecided: () => void;
}

/** Decides a case: shows the result of each rule of a version, then decides by the rules or by a chosen outcome. */
export function DecidePanel({ found, onDecided }: PanelProps): ReactNode {
  const policies = useRead<Page<Policy>>('/policies', { limit: '200' });
  const [chosen, setVersion] = useState(found.requested_policy_version);
  if (!DECIDABLE.includes(found.status)) return null;
  const offered = (policies.data?.items ?? []).filter(({ status }) => status !== 'retired');
  // A case decided under one version is decided again under another; otherwise the newest active version is
  // preselected.
  const first = offered.find(
    ({ status, policy_version }) => status === 'active' && policy_version !== found.policy_version,
  );
  const version = chosen ?? first?.policy_version ?? null;
  const policy = offered.find(({ policy_version }) => policy_version === version);
  const isDecided = found.decided_at !== null;
  return (
    <Section title={isDecided ? 'Decide again' : 'Decide'}>
      <Paper>
        <Stack gap="md">
          {isDecided && (
            <Text size="sm">What was decided under a version stays. A new decision takes another version.</Text>
          )}
          {policies.isError && <ProblemView error={policies.error} onRetry={() => void policies.refetch()} />}
          <Select
            label="Policy version"
            w={280}
            value={version}
            onChange={setVersion}
            placeholder="Choose a version"
            data={offered.map(({ policy_version, status }) => ({
              value: policy_version,
              label: status === 'draft' ? `${policy_version} (draft)` : policy_version,
            }))}
          />
          {policy !== undefined && (
            <Version key={policy.policy_version} caseId={found.case_id} policy={policy} onDecided={onDecided} />
          )}
        </Stack>
      </Paper>
    </Section>
  );
}

interface VersionProps extends Pick<PanelProps, 'onDecided'> {
  readonly caseId: string;
  readonly policy: Policy;
}

/** The result of a version for the case and, if it may decide, the form to decide. */
function Version({ caseId, policy, onDecided }: VersionProps): ReactNode {
  const { may } = useEnvironment();
  return (
    <>
      {policy.rules !== null && <ExplanationView caseId={caseId} policy={policy} />}
      {policy.rules === null && <Text size="sm">This version has no rules: choose the outcome.</Text>}
      {policy.status === 'draft' && <Text size="sm">A draft decides nothing: it only shows its result.</Text>}
      {policy.status === 'active' && may('cases:review') && (
        <DecideForm caseId={caseId} policy={policy} onDecided={onDecided} />
      )}
    </>
  );
}

/** The result of each rule, with the deciding one marked, and the facts. */
function ExplanationView({ caseId, policy }: { readonly caseId: string; readonly policy: Policy }): ReactNode {
  const explained = useRead<Explanation>(`/cases/${encodeURIComponent(caseId)}/explanation`, {
    policy_version: policy.policy_version,
  });
  if (explained.isError) return <ProblemView error={explained.error} onRetry={() => void explained.refetch()} />;
  if (explained.data === undefined) return <ListLoading rows={3} />;
  const { rules, default: otherwise, facts, decision, reason_codes, is_uncertain: isUncertain } = explained.data;
  const written = (policy.rules as { rules?: { when: unknown }[] } | null)?.rules ?? [];
  const rows: readonly RuleRow[] = [
    ...rules.map((ruling) => ({
      name: String(ruling.index + 1),
      when: conditionInWords(written[ruling.index]?.when ?? null),
      ruling,
    })),
    { name: '–', when: 'Otherwise', ruling: otherwise },
  ];
  return (
    <Stack gap="xs">
      <Text size="sm" component="div">
        The rules say: <State value={decision} /> {reason_codes.join(', ')}
        {isUncertain && ' — a fact is missing, so an approval becomes a referral.'}
      </Text>
      <PlainTable
        label="Result of each rule"
        rows={rows}
        rowKey={({ name }) => name}
        isMarked={({ ruling }) => ruling.decides}
        columns={RULE_COLUMNS}
        empty={null}
      />
      <details>
        <summary>
          <Text size="sm" component="span">
            Facts of the case
          </Text>
        </summary>
        <Code block>{JSON.stringify(facts, null, 2)}</Code>
      </details>
    </Stack>
  );
}

interface RuleRow {
  readonly name: string;
  readonly when: string;
  readonly ruling: Ruling & {
    readonly decides: boolean;
    readonly says?: Says;
    readonly missing?: readonly string[];
  };
}

const RULE_COLUMNS: readonly Column<RuleRow>[] = [
  { title: 'Rule', width: '4rem', cell: ({ name }) => name },
  {
    title: 'Condition',
    cell: ({ when, ruling: { missing = [] } }) => (
      <div>
        {when}
        {missing.length > 0 && <Text size="xs" c="dimmed">{`missing: ${missing.join(', ')}`}</Text>}
      </div>
    ),
  },
  {
    title: 'Says',
    width: '10rem',
    cell: ({ ruling: { says } }) => says !== undefined && <RuleSays says={says} />,
  },
  {
    title: 'Would decide',
    width: '17rem',
    cell: ({ ruling: { decision, reason_codes, decides } }) => (
      <Group gap={6}>
        <State value={decision} />
        <Text size="xs" component="span">
          {reason_codes.join(', ')}
        </Text>
        {decides && <strong>decides</strong>}
      </Group>
    ),
  },
];

const CODE_FORM = /^[A-Z][A-Z0-9_]{0,63}$/;

type Decided = Pick<CaseDetail['decisions'][number], 'decision'>;

/** The page may look as before: rules that refer a case again change nothing. */
function tell({ decision }: Decided): void {
  notifications.show(
    decision === 'refer'
      ? { color: 'yellow', title: 'Referred', message: 'The case stays in review: name an outcome to decide it.' }
      : { color: 'green', title: `Decided: ${wordOf(decision)}`, message: 'The gate follows once the case is sealed.' },
  );
}

function DecideForm({ caseId, policy, onDecided }: VersionProps): ReactNode {
  const { send, reload } = useEnvironment();
  const [how, setHow] = useState(policy.rules === null ? 'name' : 'rules');
  const [decision, setDecision] = useState<Outcome | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const [until, setUntil] = useState('');
  const decide = useMutation({
    mutationFn: () =>
      send<Decided>(`/cases/${encodeURIComponent(caseId)}/decide`, {
        policy_version: policy.policy_version,
        ...(how === 'name' && { decision }),
        ...(codes.length > 0 && { reason_codes: codes }),
        ...(until !== '' && { valid_until: new Date(until).toISOString() }),
      }),
    onSuccess: (decided) => {
      tell(decided);
      if (decided.decision !== 'refer') onDecided();
      reload();
    },
  });
  const badCode = codes.find((code) => !CODE_FORM.test(code));
  const differs = how === 'name' && policy.rules !== null;
  const isReady = badCode === undefined && (how === 'rules' || decision !== null) && (!differs || codes.length > 0);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) decide.mutate();
      }}
    >
      <Stack gap="sm" maw={560}>
        {policy.rules !== null && (
          <SegmentedControl
            aria-label="How to decide"
            value={how}
            onChange={setHow}
            data={[
              { value: 'rules', label: 'By the rules' },
              { value: 'name', label: 'Name an outcome' },
            ]}
          />
        )}
        {how === 'name' && (
          <Select
            label="Outcome"
            placeholder="Choose one"
            allowDeselect={false}
            value={decision}
            data={[
              { value: 'approve', label: 'Approve' },
              { value: 'decline', label: 'Decline' },
              { value: 'refer', label: 'Refer' },
            ]}
            onChange={setDecision}
          />
        )}
        <TagsInput
          label="Reason codes"
          required={differs}
          description={`${differs ? 'Why the rules are not followed. ' : ''}Capital letters, digits and underscores; each followed by Enter.`}
          maxTags={20}
          value={codes}
          onChange={setCodes}
          error={badCode !== undefined && `${badCode} is no reason code.`}
        />
        <TextInput
          label="Valid until"
          type="datetime-local"
          description="Left empty: without an end."
          value={until}
          onChange={(event) => setUntil(event.currentTarget.value)}
        />
        {decide.isError && <ProblemView error={decide.error} />}
        <Button type="submit" disabled={!isReady} loading={decide.isPending} style={{ alignSelf: 'flex-start' }}>
          {how === 'rules' ? 'Decide by the rules' : 'Record this outcome'}
        </Button>
      </Stack>
    </form>
  );
}
