import { useState, type ReactNode } from 'react';
import { Button, Group, Paper, Radio, Stack, Text, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { api } from '../../shell/api.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { asProblem } from '../../shell/problem.ts';
import { useFormFaults } from '../form-faults.ts';
import { useOrganization } from './organization.tsx';
import { bodyOf, differencesOf, draftOf, mergedOf, missingOf, type Difference } from './record-fields.ts';
import { halvesOf, RecordFields } from './record-form.tsx';
import { fieldsOf, type Field } from './record-schemas.ts';
import { Value } from './record-values.tsx';
import {
  changeRecord,
  collection,
  readRecord,
  type Draft,
  type Kind,
  type RiskSchemas,
  type Versioned,
  type Views,
} from './risk-api.ts';
import * as texts from './texts.ts';
import classes from './risks.module.css';

/** A form of these fields. */
function useRecordForm(fields: readonly Field[], start: Draft, error: unknown) {
  const form = useForm<Draft>({
    initialValues: start,
    validate: (draft) => ({ ...missingOf(fields, draft), ...halvesOf(fields, draft) }),
  });
  return { form, submitting: useFormFaults(form, error) };
}

export function RecordCreator<K extends Kind>({
  kind,
  onDone,
  onLeave,
}: {
  readonly kind: K;
  readonly onDone: (record: Views[K]) => void;
  readonly onLeave: () => void;
}): ReactNode {
  const { inOrg } = useOrganization();
  const fields = fieldsOf(kind, 'new');
  // The five collections have the same routes; the kind gives the type.
  const create = api.useMutation('post', collection(kind), {
    onSuccess: (made) => onDone(made as unknown as Views[K]),
  });
  const { form, submitting } = useRecordForm(fields, draftOf(fields, {}), create.error);
  const send = (draft: Draft): void =>
    create.mutate({ ...inOrg, body: bodyOf(fields, draft, undefined) as unknown as RiskSchemas['NewRisk'] });
  return (
    <Paper component="form" noValidate onSubmit={submitting(send)}>
      <Stack gap="md">
        <RecordFields fields={fields} form={form} />
        {create.error !== null && <ProblemView error={create.error} />}
        <Group>
          <Button type="submit" loading={create.isPending}>
            {texts.create}
          </Button>
          <Button variant="default" onClick={onLeave}>
            {texts.cancel}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

interface EditorProps<K extends Kind> {
  readonly kind: K;
  readonly opened: Versioned<K>;
  readonly onDone: (saved: Versioned<K>) => void;
  readonly onLeave: () => void;
}

/**
 * Edits a record. If somebody else saved first (412), both versions are shown side by side; the input stays until a
 * choice was made, and is then sent against the newer version.
 */
export function RecordEditor<K extends Kind>({ kind, opened, onDone, onLeave }: EditorProps<K>): ReactNode {
  const { inOrg } = useOrganization();
  const fields = fieldsOf(kind, 'change');
  const [base, setBase] = useState(opened);
  const [newer, setNewer] = useState<Versioned<K>>();
  const before = draftOf(fields, base.record);
  const id = opened.record.id;
  const save = useMutation({
    mutationFn: (changes: Draft) => changeRecord(inOrg, kind, { id, etag: base.etag, changes }),
    onSuccess: onDone,
    onError: (error) => {
      if (asProblem(error).status === 412) compare.mutate();
    },
  });
  const compare = useMutation({ mutationFn: () => readRecord(inOrg, kind, id), onSuccess: setNewer });
  const { form, submitting } = useRecordForm(fields, before, save.error);
  const draft = form.values;
  const changes = bodyOf(fields, draft, before);
  const problem = save.error === null ? undefined : asProblem(save.error);
  if (newer !== undefined) {
    const theirs = draftOf(fields, newer.record);
    const goOn = (merged: Draft) => {
      setBase(newer);
      form.resetDirty(theirs);
      form.setValues(merged);
      setNewer(undefined);
      save.reset();
    };
    return (
      <Conflict
        differences={differencesOf(fields, { before, mine: draft, theirs })}
        onChosen={(taken) => goOn(mergedOf(theirs, differencesOf(fields, { before, mine: draft, theirs }), taken))}
      />
    );
  }
  return (
    <Paper component="form" noValidate onSubmit={submitting(() => save.mutate(changes))}>
      <Stack gap="md">
        <RecordFields fields={fields} form={form} />
        {problem !== undefined && (
          <ProblemView error={compare.error ?? problem}>
            {problem.status === 412 && (
              <Button size="xs" variant="default" onClick={() => compare.mutate()}>
                {texts.compareTheVersions}
              </Button>
            )}
          </ProblemView>
        )}
        <Group>
          <Button
            type="submit"
            loading={save.isPending || compare.isPending}
            disabled={Object.keys(changes).length === 0}
          >
            {texts.save}
          </Button>
          <Button variant="default" onClick={onLeave}>
            {texts.cancel}
          </Button>
          {Object.keys(changes).length === 0 && (
            <Text size="sm" c="dimmed">
              {texts.nothingIsChangedYet}
            </Text>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}

/** Resolves a 412: for each differing member, mine or theirs. Members that only one side changed are preselected. */
function Conflict({
  differences,
  onChosen,
}: {
  readonly differences: readonly Difference[];
  readonly onChosen: (taken: ReadonlySet<string>) => void;
}): ReactNode {
  const [choices, setChoices] = useState<Readonly<Record<string, 'mine' | 'theirs'>>>(() =>
    Object.fromEntries(
      differences
        .filter(({ clashes }) => !clashes)
        .map((each) => [each.field.name, changedByMe(each) ? 'mine' : 'theirs']),
    ),
  );
  const open = differences.filter(({ field }) => choices[field.name] === undefined);
  const taken = new Set(
    differences.filter(({ field }) => choices[field.name] === 'mine').map(({ field }) => field.name),
  );
  return (
    <Paper role="region" aria-label={texts.twoVersions}>
      <Stack gap="md">
        <div>
          <Title order={2}>{texts.somebodySavedThisWhileYouWereTyping}</Title>
          <Text size="sm" c="dimmed">
            {differences.length === 0 ? texts.sameWasSaved : texts.chooseWhatCounts}
          </Text>
        </div>
        {differences.map((difference) => (
          <OneDifference
            key={difference.field.name}
            difference={difference}
            choice={choices[difference.field.name]}
            onChoose={(choice) => setChoices({ ...choices, [difference.field.name]: choice })}
          />
        ))}
        <Group>
          <Button onClick={() => onChosen(taken)} disabled={open.length > 0}>
            {texts.continueWithThis}
          </Button>
          {open.length > 0 && (
            <Text size="sm" c="dimmed">
              {texts.leftToChoose(open.length, open.map(({ field }) => field.label).join(', '))}
            </Text>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}

const changedByMe = ({ mine, before }: Difference): boolean => JSON.stringify(mine) !== JSON.stringify(before);

function OneDifference({
  difference,
  choice,
  onChoose,
}: {
  readonly difference: Difference;
  readonly choice: 'mine' | 'theirs' | undefined;
  readonly onChoose: (choice: 'mine' | 'theirs') => void;
}): ReactNode {
  const { field, mine, theirs, clashes } = difference;
  const side = (which: 'mine' | 'theirs', title: string, value: unknown) => (
    <div className={classes['version']}>
      <Radio
        name={`choose-${field.name}`}
        value={which}
        checked={choice === which}
        onChange={() => onChoose(which)}
        label={title}
        mb={6}
      />
      <Value field={field} value={value} />
    </div>
  );
  return (
    <div role="radiogroup" aria-label={field.label}>
      <Text fw={600} size="sm" mb={4}>
        {field.label}{' '}
        {clashes && (
          <Text component="span" c="var(--console-bad)" size="sm">
            {texts.bothOfYouChangedThis}
          </Text>
        )}
      </Text>
      <div className={classes['compare']}>
        {side('mine', texts.yours, mine)}
        {side('theirs', texts.theirsAsItIsSaved, theirs)}
      </div>
    </div>
  );
}
