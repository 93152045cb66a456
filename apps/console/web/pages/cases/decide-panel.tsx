import { useState, type ReactNode } from 'react';
import { Button, Code, Group, Paper, SegmentedControl, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useForm } from '@mantine/form';
import { api } from '../../shell/api.ts';
import { PlainTable, type Column } from '../../shell/cursor-table.tsx';
import { ListLoading } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { useFormFaults } from '../form-faults.ts';
import type { CaseDetail, Outcome, Policy, Ruling, Says } from './case-api.ts';
import * as texts from './case-texts.ts';
import { RuleSays, State, wordOf } from './case-words.tsx';
import { conditionInWords } from './condition-in-words.ts';
import { useEnvironment, usePolicies } from './environment.tsx';

const DECIDABLE = ['received', 'in_review', 'decided', 'sealed'];

interface PanelProps {
  readonly found: CaseDetail;
  /** Told of a decision that ends the review. */
  readonly onDecided: () => void;
}

/** Decides a case: shows the result of each rule of a version, then decides by the rules or by a chosen outcome. */
export function DecidePanel({ found, onDecided }: PanelProps): ReactNode {
  const policies = usePolicies();
  const [chosen, setVersion] = useState(found.requested_policy_version);
  if (!DECIDABLE.includes(found.status)) return null;
  const isDecided = found.decided_at !== null;
  const used = found.decisions.filter(({ decision }) => decision !== 'refer').map((each) => each.policy_version);
  // A decided case is decided again only under an active version that has not decided it.
  const offered = (policies.data?.items ?? []).filter(({ status, policy_version }) =>
    isDecided ? status === 'active' && !used.includes(policy_version) : status !== 'retired',
  );
  if (isDecided && offered.length === 0 && !policies.isError) return null;
  const first = offered.find(({ status }) => status === 'active');
  const policy = offered.find(({ policy_version }) => policy_version === chosen) ?? first;
  return (
    <Section title={isDecided ? texts.decideAgain : texts.decide}>
      <Paper>
        <Stack gap="md">
          {isDecided && <Text size="sm">{texts.decideAgainHint}</Text>}
          {policies.isError && <ProblemView error={policies.error} onRetry={() => void policies.refetch()} />}
          <Select
            label={texts.policyVersion}
            w={280}
            value={policy?.policy_version ?? null}
            onChange={setVersion}
            placeholder={texts.chooseAVersion}
            data={offered.map(({ policy_version, status }) => ({
              value: policy_version,
              label: status === 'draft' ? texts.draftVersion(policy_version) : policy_version,
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

const useExplanation = (caseId: string, { rules, policy_version }: Policy) => {
  const { name: environment } = useEnvironment();
  return api.useQuery(
    'get',
    '/admin/case-gate/admin/v1/cases/{case_id}/explanation',
    { params: { path: { case_id: caseId }, query: { environment, policy_version } } },
    { enabled: rules !== null },
  );
};

/** The result of a version for the case and, if it may decide, the form to decide. */
function Version({ caseId, policy, onDecided }: VersionProps): ReactNode {
  const { may } = useEnvironment();
  const explained = useExplanation(caseId, policy);
  const isKnown = policy.rules === null || !explained.isPending;
  return (
    <>
      {policy.rules !== null && <ExplanationView caseId={caseId} policy={policy} />}
      {policy.rules === null && <Text size="sm">{texts.thisVersionHasNoRules}</Text>}
      {policy.status === 'draft' && <Text size="sm">{texts.aDraftDecidesNothing}</Text>}
      {policy.status === 'active' && may('cases:review') && isKnown && (
        <DecideForm
          caseId={caseId}
          policy={policy}
          onDecided={onDecided}
          isReferred={explained.data?.decision === 'refer'}
        />
      )}
    </>
  );
}

/** The result of each rule, with the deciding one marked, and the facts. */
function ExplanationView({ caseId, policy }: { readonly caseId: string; readonly policy: Policy }): ReactNode {
  const explained = useExplanation(caseId, policy);
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
    { name: '–', when: texts.otherwise, ruling: otherwise },
  ];
  return (
    <Stack gap="xs">
      <Text size="sm" component="div">
        {isUncertain
          ? texts.rulesSayUncertain(<State value={decision} />, reason_codes.join(', '))
          : texts.rulesSay(<State value={decision} />, reason_codes.join(', '))}
      </Text>
      <PlainTable
        label={texts.resultOfEachRule}
        rows={rows}
        rowKey={({ name }) => name}
        isMarked={({ ruling }) => ruling.decides}
        columns={RULE_COLUMNS}
        empty={null}
      />
      <details>
        <summary>
          <Text size="sm" component="span">
            {texts.factsOfTheCase}
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
  { title: texts.rule, width: '4rem', cell: ({ name }) => name },
  {
    title: texts.condition,
    cell: ({ when, ruling: { missing = [] } }) => (
      <div>
        {when}
        {missing.length > 0 && (
          <Text size="xs" c="dimmed">
            {texts.missing(missing.join(', '))}
          </Text>
        )}
      </div>
    ),
  },
  {
    title: texts.says,
    width: '10rem',
    cell: ({ ruling: { says } }) => says !== undefined && <RuleSays says={says} />,
  },
  {
    title: texts.wouldDecide,
    width: '17rem',
    cell: ({ ruling: { decision, reason_codes, decides } }) => (
      <Group gap={6}>
        <State value={decision} />
        <Text size="xs" component="span">
          {reason_codes.join(', ')}
        </Text>
        {decides && <strong>{texts.decides}</strong>}
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
      ? { color: 'yellow', title: texts.referred, message: texts.referredMessage }
      : { color: 'green', title: texts.decidedAs(wordOf(decision)), message: texts.decidedMessage },
  );
}

interface Draft {
  readonly how: 'rules' | 'name';
  readonly decision: Outcome | null;
  readonly reason_codes: string[];
  /** Of `datetime-local`; empty: without an end. */
  readonly valid_until: string;
}

function faultOfCodes(codes: readonly string[], { how }: Draft, policy: Policy): string | null {
  const bad = codes.find((code) => !CODE_FORM.test(code));
  if (bad !== undefined) return texts.isNoReasonCode(bad);
  return how === 'name' && policy.rules !== null && codes.length === 0 ? texts.sayWhyTheRulesAreNotFollowed : null;
}

function useDecideForm(policy: Policy, isReferred: boolean) {
  const how = policy.rules === null || isReferred ? 'name' : 'rules';
  return useForm<Draft>({
    initialValues: { how, decision: null, reason_codes: [], valid_until: '' },
    validateInputOnChange: ['reason_codes'],
    validate: {
      decision: (decision, { how }) => (how === 'name' && decision === null ? texts.chooseOneFault : null),
      reason_codes: (codes, draft) => faultOfCodes(codes, draft, policy),
    },
  });
}

const WAYS = [
  { value: 'rules', label: texts.byTheRules },
  { value: 'name', label: texts.nameAnOutcome },
];

interface FormProps extends VersionProps {
  /** Whether the rules leave the outcome to a person. */
  readonly isReferred: boolean;
}

function DecideForm({ caseId, policy, onDecided, isReferred }: FormProps): ReactNode {
  const { name: environment, reload } = useEnvironment();
  const form = useDecideForm(policy, isReferred);
  const decide = api.useMutation('post', '/admin/case-gate/admin/v1/cases/{case_id}/decide', {
    onSuccess: (decided) => {
      form.resetDirty();
      tell(decided);
      if (decided.decision !== 'refer') onDecided();
      reload();
    },
  });
  const submitting = useFormFaults(form, decide.error);
  const { how } = form.values;
  const differs = how === 'name' && policy.rules !== null;
  const send = ({ decision, reason_codes: codes, valid_until: until }: Draft): void =>
    decide.mutate({
      params: { path: { case_id: caseId }, query: { environment } },
      body: {
        policy_version: policy.policy_version,
        ...(how === 'name' && decision !== null && { decision }),
        ...(codes.length > 0 && { reason_codes: codes }),
        ...(until !== '' && { valid_until: new Date(until).toISOString() }),
      },
    });
  return (
    <form noValidate onSubmit={submitting(send)}>
      <Stack gap="sm" maw={560}>
        {isReferred && <Text size="sm">{texts.theRulesReferThisCase}</Text>}
        {policy.rules !== null && (
          <SegmentedControl
            aria-label={texts.howToDecide}
            data={isReferred ? WAYS.toReversed() : WAYS}
            {...form.getInputProps('how')}
          />
        )}
        {how === 'name' && (
          <Select
            label={texts.outcome}
            placeholder={texts.chooseOne}
            allowDeselect={false}
            data={[
              { value: 'approve', label: texts.approve },
              { value: 'decline', label: texts.decline },
              { value: 'refer', label: texts.refer },
            ]}
            {...form.getInputProps('decision')}
          />
        )}
        <TagsInput
          label={texts.reasonCodes}
          required={differs}
          description={differs ? texts.reasonCodesHintIfRulesAreNotFollowed : texts.reasonCodesHint}
          maxTags={20}
          {...form.getInputProps('reason_codes')}
        />
        <TextInput
          label={texts.validUntil}
          type="datetime-local"
          description={texts.validUntilHint}
          {...form.getInputProps('valid_until')}
        />
        {decide.isError && <ProblemView error={decide.error} />}
        <Button type="submit" loading={decide.isPending} style={{ alignSelf: 'flex-start' }}>
          {how === 'rules' ? texts.decideByTheRules : texts.recordThisOutcome}
        </Button>
      </Stack>
    </form>
  );
}
