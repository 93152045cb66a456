import type { ReactNode } from 'react';
import { ActionIcon, Button, Group, NativeSelect, Paper, Stack, TagsInput, Text } from '@mantine/core';
import { Icon } from '../../shell/icons.tsx';
import type { Outcome, Ruling } from './case-api.ts';
import { wordOf } from './case-words.tsx';
import { ConditionFields } from './condition-fields.tsx';
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
        <Paper key={at} p="sm" component="section" aria-label={`Rule ${at + 1}`}>
          <Stack gap="xs">
            <Group justify="space-between">
              <Text fw={600} size="sm">
                Rule {at + 1}
              </Text>
              <Group gap={4}>
                {at > 0 && (
                  <Button
                    size="compact-xs"
                    variant="subtle"
                    aria-label={`Move rule ${at + 1} up`}
                    onClick={() => moveUp(at)}
                  >
                    Move up
                  </Button>
                )}
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-label={`Remove rule ${at + 1}`}
                  onClick={() => set(withItem(rules, at))}
                >
                  Remove
                </Button>
              </Group>
            </Group>
            <Conditions rule={rule} onChange={(next) => set(withItem(rules, at, next))} />
            <RulingFields
              of={`rule ${at + 1}`}
              ruling={rule}
              onChange={(next) => set(withItem(rules, at, { ...rule, ...next }))}
            />
          </Stack>
        </Paper>
      ))}
      <Button size="xs" variant="default" style={{ alignSelf: 'flex-start' }} onClick={() => set([...rules, NEW_RULE])}>
        Add a rule
      </Button>
      <Paper p="sm" component="section" aria-label="Otherwise">
        <Stack gap="xs">
          <Text fw={600} size="sm">
            Otherwise
          </Text>
          <RulingFields of="otherwise" ruling={otherwise} onChange={(next) => onChange({ rules, otherwise: next })} />
        </Stack>
      </Paper>
    </>
  );
}

const JOINS = [
  { value: 'and', label: 'all of these hold' },
  { value: 'or', label: 'one of these holds' },
];

function Conditions({ rule, onChange }: { readonly rule: Rule; readonly onChange: (rule: Rule) => void }): ReactNode {
  const { join, conditions } = rule;
  const set = (next: readonly Condition[]): void => onChange({ ...rule, conditions: next });
  return (
    <>
      {conditions.length === 0 && <Text size="sm">Always</Text>}
      {conditions.length > 1 && (
        <NativeSelect
          label="If"
          data={JOINS}
          value={join}
          onChange={(event) => onChange({ ...rule, join: event.currentTarget.value === 'or' ? 'or' : 'and' })}
        />
      )}
      {conditions.map((condition, index) => (
        <Group key={index} gap="xs" wrap="nowrap" align="center" role="group" aria-label={`Condition ${index + 1}`}>
          <ConditionFields condition={condition} onChange={(next) => set(withItem(conditions, index, next))} />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Remove condition ${index + 1}`}
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
        Add a condition
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
      label="Outcome"
      aria-label={`Outcome of ${of}`}
      w={130}
      data={OUTCOME_DATA}
      value={ruling.decision}
      onChange={(event) =>
        onChange({ decision: event.currentTarget.value as Outcome, reason_codes: ruling.reason_codes })
      }
    />
    <TagsInput
      label="Reason codes"
      aria-label={`Reason codes of ${of}`}
      flex="1 1 12rem"
      placeholder={ruling.reason_codes.length === 0 ? 'DOCUMENTS_COMPLETE' : ''}
      splitChars={[',', ' ']}
      maxTags={20}
      value={[...ruling.reason_codes]}
      onChange={(codes) => onChange({ decision: ruling.decision, reason_codes: entriesOf(codes, /[\s,]+/) })}
    />
  </Group>
);
