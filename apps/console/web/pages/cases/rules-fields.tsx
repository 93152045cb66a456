import type { ReactNode } from 'react';
import { ActionIcon, Button, Group, NativeSelect, Paper, Stack, TagsInput, Text } from '@mantine/core';
import { Icon } from '../../shell/icons.tsx';
import type { Outcome, Ruling } from './case-api.ts';
import { wordOf } from './case-words.tsx';
import { ConditionFields } from './condition-fields.tsx';
import * as texts from './policy-texts.ts';
import { conditionOn, entriesOf, OUTCOMES, type Condition, type Rule, type RulesForm } from './rules-form.ts';

interface FormProps {
  readonly form: RulesForm;
  readonly onChange: (form: RulesForm) => void;
}

/** A list with one item replaced, or without it. */
const withItem = <Item,>(items: readonly Item[], at: number, ...item: readonly Item[]): readonly Item[] =>
  items.toSpliced(at, 1, ...item);

const NEW_RULE: Rule = {
  join: 'and',
  isList: false,
  conditions: [conditionOn('attachment_count')],
  decision: 'refer',
  reason_codes: [],
};

/** The rules in order, each with its conditions and what it decides, then what holds otherwise. */
export function RulesFields({ form: { rules, otherwise }, onChange }: FormProps): ReactNode {
  const set = (next: readonly Rule[]): void => onChange({ rules: next, otherwise });
  const moveUp = (at: number): void => set(rules.toSpliced(at - 1, 2, rules[at]!, rules[at - 1]!));
  return (
    <>
      {rules.map((rule, at) => (
        // Rules have no id, and their order is what they are known by.
        <Paper key={at} p="sm" component="section" aria-label={texts.ruleNumber(at + 1)}>
          <Stack gap="xs">
            <Group justify="space-between">
              <Text fw={600} size="sm">
                {texts.ruleNumber(at + 1)}
              </Text>
              <Group gap={4}>
                {at > 0 && (
                  <Button
                    size="compact-xs"
                    variant="subtle"
                    aria-label={texts.moveRuleUp(at + 1)}
                    onClick={() => moveUp(at)}
                  >
                    {texts.moveUp}
                  </Button>
                )}
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-label={texts.removeRule(at + 1)}
                  onClick={() => set(withItem(rules, at))}
                >
                  {texts.remove}
                </Button>
              </Group>
            </Group>
            <Conditions rule={rule} onChange={(next) => set(withItem(rules, at, next))} />
            <RulingFields
              of={texts.ofRuleNumber(at + 1)}
              ruling={rule}
              onChange={(next) => set(withItem(rules, at, { ...rule, ...next }))}
            />
          </Stack>
        </Paper>
      ))}
      <Button size="xs" variant="default" style={{ alignSelf: 'flex-start' }} onClick={() => set([...rules, NEW_RULE])}>
        {texts.addARule}
      </Button>
      <Paper p="sm" component="section" aria-label={texts.otherwise}>
        <Stack gap="xs">
          <Text fw={600} size="sm">
            {texts.otherwise}
          </Text>
          <RulingFields
            of={texts.ofOtherwise}
            ruling={otherwise}
            onChange={(next) => onChange({ rules, otherwise: next })}
          />
        </Stack>
      </Paper>
    </>
  );
}

const JOINS = [
  { value: 'and', label: texts.allOfTheseHold },
  { value: 'or', label: texts.oneOfTheseHolds },
];

function Conditions({ rule, onChange }: { readonly rule: Rule; readonly onChange: (rule: Rule) => void }): ReactNode {
  const { join, conditions } = rule;
  const set = (next: readonly Condition[]): void => onChange({ ...rule, conditions: next });
  return (
    <>
      {conditions.length === 0 && <Text size="sm">{texts.always}</Text>}
      {conditions.length > 1 && (
        <NativeSelect
          label={texts.ifWord}
          data={JOINS}
          value={join}
          onChange={(event) => onChange({ ...rule, join: event.currentTarget.value === 'or' ? 'or' : 'and' })}
        />
      )}
      {conditions.map((condition, index) => (
        <Group
          key={index}
          gap="xs"
          wrap="nowrap"
          align="center"
          role="group"
          aria-label={texts.conditionNumber(index + 1)}
        >
          <ConditionFields condition={condition} onChange={(next) => set(withItem(conditions, index, next))} />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={texts.removeCondition(index + 1)}
            onClick={() => set(withItem(conditions, index))}
          >
            <Icon name="cross" size={15} />
          </ActionIcon>
        </Group>
      ))}
      <Button
        size="compact-xs"
        variant="subtle"
        style={{ alignSelf: 'flex-start' }}
        onClick={() => set([...conditions, conditionOn('case_type')])}
      >
        {texts.addACondition}
      </Button>
    </>
  );
}

interface RulingProps {
  readonly of: string;
  readonly ruling: Ruling;
  readonly onChange: (ruling: Ruling) => void;
}

const OUTCOME_DATA = OUTCOMES.map((value) => ({ value, label: wordOf(value) }));

const RulingFields = ({ of, ruling, onChange }: RulingProps): ReactNode => (
  <Group gap="xs" align="flex-end">
    <NativeSelect
      label={texts.outcome}
      aria-label={texts.outcomeOf(of)}
      w={130}
      data={OUTCOME_DATA}
      value={ruling.decision}
      onChange={(event) =>
        onChange({ decision: event.currentTarget.value as Outcome, reason_codes: ruling.reason_codes })
      }
    />
    <TagsInput
      label={texts.reasonCodes}
      aria-label={texts.reasonCodesOf(of)}
      flex="1 1 12rem"
      placeholder={ruling.reason_codes.length === 0 ? texts.reasonCodesExample : ''}
      splitChars={[',', ' ']}
      maxTags={20}
      value={[...ruling.reason_codes]}
      onChange={(codes) => onChange({ decision: ruling.decision, reason_codes: entriesOf(codes, /[\s,]+/) })}
    />
  </Group>
);
