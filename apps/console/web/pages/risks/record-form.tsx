import type { ReactNode } from 'react';
import {
  Checkbox,
  Fieldset,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  TagsInput,
  Text,
  TextInput,
  Textarea,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useOrganization } from './organization.tsx';
import { KIND_OF_IDS } from './record-kinds.ts';
import { PersonPicker, RecordsPicker } from './record-picker.tsx';
import type { Field } from './record-schemas.ts';
import type { Draft } from './risk-api.ts';
import * as texts from './texts.ts';
import { inWords, levelOf } from './words.ts';

interface FormProps {
  readonly fields: readonly Field[];
  readonly form: UseFormReturnType<Draft>;
}

/** The fields of a record. */
export const RecordFields = ({ fields, form }: FormProps): ReactNode => (
  <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="md">
    {fields.map((field) => (
      <div key={field.name} style={WIDE.has(field.kind) ? { gridColumn: '1 / -1' } : undefined}>
        <FieldInput
          field={field}
          value={form.values[field.name]}
          fault={form.errors[field.name]}
          onChange={(value) => form.setFieldValue(field.name, value)}
        />
      </div>
    ))}
  </SimpleGrid>
);

const WIDE: ReadonlySet<Field['kind']> = new Set(['text', 'ids', 'requirements', 'period']);

interface InputProps {
  readonly field: Field;
  readonly value: unknown;
  readonly fault: ReactNode;
  readonly onChange: (value: unknown) => void;
}

const FieldInput = (props: InputProps): ReactNode => INPUTS[props.field.kind](props);

/** Props of all inputs. */
const common = ({ field: { name, label, hint, required }, fault }: InputProps) => ({
  label,
  description: hint,
  error: fault,
  required,
  name,
});

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The input for each kind of field. */
const INPUTS: Readonly<Record<Field['kind'], (props: InputProps) => ReactNode>> = {
  line: (props) => (props.field.name === 'ownerId' ? <OwnerInput {...props} /> : <LineInput {...props} />),
  text: (props) => (
    <Textarea
      {...common(props)}
      autosize
      minRows={3}
      maxRows={18}
      value={textOf(props.value)}
      maxLength={props.field.max}
      onChange={(event) => props.onChange(event.currentTarget.value || null)}
    />
  ),
  number: (props) => (
    <NumberInput
      {...common(props)}
      min={0}
      allowDecimal={false}
      value={typeof props.value === 'number' ? props.value : ''}
      onChange={(next) => props.onChange(typeof next === 'number' ? next : null)}
    />
  ),
  choice: (props) => (
    <Select
      {...common(props)}
      clearable={!props.field.required}
      value={textOf(props.value) || null}
      data={props.field.choices.map((value) => ({ value, label: inWords(value) }))}
      onChange={props.onChange}
      clearButtonProps={{ 'aria-label': texts.clear(props.field.label) }}
    />
  ),
  flag: (props) => (
    <Checkbox
      label={props.field.label}
      description={props.field.hint}
      name={props.field.name}
      error={props.fault}
      mt={28}
      checked={props.value === true}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  ),
  time: (props) => <TimeInput {...common(props)} value={props.value} onChange={props.onChange} />,
  ids(props) {
    const kind = KIND_OF_IDS[props.field.name];
    const input = { ...common(props), value: idsOf(props.value), onChange: props.onChange };
    return kind === undefined ? (
      <TagsInput {...input} splitChars={[',', ' ']} />
    ) : (
      <RecordsPicker {...input} kind={kind} />
    );
  },
  requirements: (props) => (
    <TagsInput
      {...common(props)}
      value={requirementTexts(props.value)}
      onChange={(texts) => props.onChange(requirementsOf(texts))}
    />
  ),
  rating: (props) => <RatingInput {...props} />,
  period: (props) => <PeriodInput {...props} />,
};

const LineInput = (props: InputProps): ReactNode => (
  <TextInput
    {...common(props)}
    value={textOf(props.value)}
    maxLength={props.field.max}
    onChange={(event) => props.onChange(event.currentTarget.value || null)}
  />
);

/** By name for those who may list the members, else by id. */
function OwnerInput(props: InputProps): ReactNode {
  const { may } = useOrganization();
  if (!may('member:read')) return <LineInput {...props} />;
  return (
    <PersonPicker
      {...common(props)}
      description={texts.leftEmptyYou}
      value={textOf(props.value) || undefined}
      onChange={props.onChange}
    />
  );
}

const idsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

interface Requirement {
  readonly frameworkId: string;
  readonly requirementId: string;
}

const requirementTexts = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as Requirement[]) : []).map(
    ({ frameworkId, requirementId }) => `${frameworkId}/${requirementId}`,
  );

const requirementsOf = (texts: readonly string[]): Requirement[] =>
  texts.flatMap((text) => {
    const at = text.indexOf('/');
    return at > 0 && at < text.length - 1
      ? [{ frameworkId: text.slice(0, at), requirementId: text.slice(at + 1) }]
      : [];
  });

/** Local date and time to the minute, as `datetime-local` takes it; undefined if the text is no time. */
function localMinutes(iso: unknown): string {
  const date = new Date(typeof iso === 'string' ? iso : Number.NaN);
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

interface TimeProps {
  readonly label: string;
  readonly name: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly description?: string | undefined;
  readonly error?: ReactNode;
}

const TimeInput = ({ value, onChange, ...rest }: TimeProps): ReactNode => (
  <TextInput
    {...rest}
    type="datetime-local"
    value={localMinutes(value)}
    onChange={(event) => {
      const date = new Date(event.currentTarget.value);
      onChange(Number.isNaN(date.getTime()) ? null : date.toISOString());
    }}
  />
);

function PeriodInput({ field, value, fault, onChange }: InputProps): ReactNode {
  const { from = null, to = null } = (value ?? {}) as { from?: string | null; to?: string | null };
  const set = (next: { from: unknown; to: unknown }) => onChange(next.from === null && next.to === null ? null : next);
  return (
    <Fieldset legend={field.label}>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TimeInput
          label={texts.from}
          name={`${field.name}-from`}
          value={from}
          error={(from === null || to !== null) && fault}
          onChange={(next) => set({ from: next, to })}
        />
        <TimeInput
          label={texts.to}
          name={`${field.name}-to`}
          value={to}
          error={to === null && fault}
          onChange={(next) => set({ from, to: next })}
        />
      </SimpleGrid>
    </Fieldset>
  );
}

const DEGREES = ['1', '2', '3', '4', '5'].map((degree) => ({ value: degree, label: degree }));

/** Likelihood and impact; an incomplete rating is kept as typed, and is no value yet. */
function RatingInput({ field, value, fault, onChange }: InputProps): ReactNode {
  const { likelihood, impact } = (value ?? {}) as { likelihood?: number; impact?: number };
  const set = (name: 'likelihood' | 'impact', text: string | null) => {
    const next = { likelihood, impact, [name]: text === null ? undefined : Number(text) };
    onChange(next.likelihood === undefined && next.impact === undefined ? null : next);
  };
  const score = likelihood !== undefined && impact !== undefined ? likelihood * impact : undefined;
  return (
    <Fieldset legend={field.required ? `${field.label} *` : field.label}>
      <Group grow align="flex-start">
        <Select
          label={texts.likelihood}
          data={DEGREES}
          clearable
          value={likelihood === undefined ? null : String(likelihood)}
          error={(likelihood === undefined || impact !== undefined) && fault}
          onChange={(text) => set('likelihood', text)}
        />
        <Select
          label={texts.impact}
          data={DEGREES}
          clearable
          value={impact === undefined ? null : String(impact)}
          error={impact === undefined && fault}
          onChange={(text) => set('impact', text)}
        />
      </Group>
      <Text size="sm" c="dimmed" mt={6}>
        {score === undefined ? texts.from1To5Each : texts.score(score, inWords(levelOf(score)))}
      </Text>
    </Fieldset>
  );
}

/** Names of incomplete members. */
export function halvesOf(fields: readonly Field[], draft: Draft): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  for (const { name, kind } of fields) {
    const value = draft[name] as Readonly<Record<string, unknown>> | null | undefined;
    if (value == null) continue;
    if (kind === 'rating' && (value['likelihood'] === undefined || value['impact'] === undefined))
      faults[name] = texts.chooseBoth;
    if (kind === 'period' && (value['from'] == null || value['to'] == null))
      faults[name] = texts.giveBothTimesOrNeither;
  }
  return faults;
}
