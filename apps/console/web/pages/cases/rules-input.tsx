import { useState, type ReactNode } from 'react';
import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { parseRules, rulesText } from './parse-rules.ts';
import * as texts from './policy-texts.ts';
import { RulesFields } from './rules-fields.tsx';
import { formOf, rulesOf, type RulesForm } from './rules-form.ts';

interface RulesInputProps {
  readonly text: string;
  readonly onChange: (text: string) => void;
}

const FIRST: RulesForm = { rules: [], otherwise: { decision: 'refer', reason_codes: [] } };

/**
 * Rules as fields, and on demand as JSON. The text is what is kept: a change of a field writes it anew, a change of the
 * text fills the fields, and a text with a fault stays as it was typed, and open.
 */
export function RulesInput({ text, onChange }: RulesInputProps): ReactNode {
  const { rules, fault } = parseRules(text);
  const [isOpen, setOpen] = useState(false);
  const write = (form: RulesForm): void => onChange(rulesText(rulesOf(form)));
  return (
    <Stack gap="sm">
      <Stack gap="sm" component="section" aria-label={texts.rulesAsAForm}>
        {fault === undefined ? (
          <Fields rules={rules} onWrite={write} />
        ) : (
          <Alert color="yellow" title={texts.theJsonHasAFault}>
            <Text size="sm" className="wrap">
              {texts.faultInJson(fault)}
            </Text>
          </Alert>
        )}
      </Stack>
      <details open={isOpen || fault !== undefined} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Text size="sm" component="span">
            {texts.theSameAsJson}
          </Text>
        </summary>
        {(isOpen || fault !== undefined) && (
          <Textarea
            label={texts.rulesAsJson}
            value={text}
            error={fault}
            autosize
            minRows={8}
            maxRows={32}
            spellCheck={false}
            description={texts.rulesAsJsonHint}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.82rem' } }}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )}
      </details>
    </Stack>
  );
}

interface FieldsProps {
  readonly rules: ReturnType<typeof parseRules>['rules'];
  readonly onWrite: (form: RulesForm) => void;
}

function Fields({ rules = null, onWrite }: FieldsProps): ReactNode {
  if (rules === null)
    return (
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{texts.noRulesHint}</Text>
        <Button size="xs" variant="default" onClick={() => onWrite(FIRST)}>
          {texts.addRules}
        </Button>
      </Stack>
    );
  const form = formOf(rules);
  if (form !== undefined) return <RulesFields form={form} onChange={onWrite} />;
  return (
    <Alert color="yellow" title={texts.theFormCannotShowThis}>
      <Text size="sm">{texts.formCannotShowThisHint}</Text>
      <Group mt="xs">
        <Button size="xs" variant="default" onClick={() => onWrite(FIRST)}>
          {texts.beginAnew}
        </Button>
      </Group>
    </Alert>
  );
}
