import type { ReactNode } from 'react';
import { Group, NativeSelect, NumberInput, TagsInput, Text, TextInput } from '@mantine/core';
import { conditionInWords } from './condition-in-words.ts';
import * as texts from './policy-texts.ts';
import {
  ATTACHMENT_KINDS,
  conditionOn,
  entriesOf,
  FACTS,
  kindOf,
  TESTS,
  type Condition,
  type Fact,
} from './rules-form.ts';

type FactCondition = Exclude<Condition, { readonly other: unknown }>;

const FACT_DATA = FACTS.map(({ fact, label }) => ({ value: fact, label }));
const KIND_DATA = [
  { value: ATTACHMENT_KINDS[0], label: texts.vault },
  { value: ATTACHMENT_KINDS[1], label: texts.upload },
];

interface ConditionProps<Of> {
  readonly condition: Of;
  readonly onChange: (condition: Condition) => void;
}

/** The fields of a condition; one without fields is shown in words. */
export function ConditionFields({ condition, onChange }: ConditionProps<Condition>): ReactNode {
  if ('other' in condition)
    return (
      <Text size="sm" className="wrap" flex={1}>
        {conditionInWords(condition.other)} <span style={{ opacity: 0.85 }}>{texts.changeItInTheJson}</span>
      </Text>
    );
  const { fact, name, test } = condition;
  return (
    <Group gap="xs" flex={1}>
      <NativeSelect
        aria-label={texts.fact}
        flex="1 1 9rem"
        data={FACT_DATA}
        value={fact}
        onChange={(event) => onChange(conditionOn(event.currentTarget.value as Fact))}
      />
      {fact === 'metadata' && (
        <TextInput
          aria-label={texts.nameInMetadata}
          placeholder={texts.nameInMetadataExample}
          flex="1 1 7rem"
          value={name}
          onChange={(event) => onChange({ ...condition, name: event.currentTarget.value })}
        />
      )}
      <NativeSelect
        aria-label={texts.test}
        flex="1 1 8.5rem"
        data={TESTS[kindOf(fact)]
          .filter((one) => one.test !== 'missing' || fact === 'metadata' || test === 'missing')
          .map((one) => ({ value: one.test, label: one.label }))}
        value={test}
        onChange={(event) => onChange(withTest(condition, event.currentTarget.value))}
      />
      <ValueField condition={condition} onChange={onChange} />
    </Group>
  );
}

/** The value stays where the other test takes it. */
function withTest(condition: FactCondition, test: string): FactCondition {
  const { value } = condition;
  const first = typeof value === 'object' ? (value[0] ?? '') : value;
  if (test === 'missing') return { ...condition, test, value: '' };
  if (test === 'in') return { ...condition, test, value: first === '' ? [] : [String(first)] };
  return { ...condition, test, value: first };
}

function ValueField({ condition, onChange }: ConditionProps<FactCondition>): ReactNode {
  const { fact, test, value } = condition;
  const set = (next: FactCondition['value']): void => onChange({ ...condition, value: next });
  if (test === 'missing') return null;
  if (typeof value === 'object')
    return (
      <TagsInput
        aria-label={texts.values}
        flex="1 1 10rem"
        splitChars={[',']}
        value={[...value]}
        onChange={(next) => set(entriesOf(next, ','))}
      />
    );
  if (typeof value === 'number')
    return (
      <NumberInput aria-label={texts.number} flex="1 1 4.5rem" value={value} onChange={(next) => set(Number(next))} />
    );
  if (fact === 'attachment_kinds' && (value === '' || ATTACHMENT_KINDS.some((kind) => kind === value)))
    return (
      <NativeSelect
        aria-label={texts.kind}
        flex="1 1 7rem"
        data={value === '' ? [{ value: '', label: texts.choose }, ...KIND_DATA] : KIND_DATA}
        value={value}
        onChange={(event) => set(event.currentTarget.value)}
      />
    );
  return (
    <TextInput
      aria-label={texts.value}
      flex="1 1 8rem"
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}
