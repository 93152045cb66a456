import { useState, type ReactNode } from 'react';
import { Alert, Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { parseRules, rulesText } from './parse-rules.ts';
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
      <Stack gap="sm" component="section" aria-label="Rules as a form">
        {fault === undefined ? (
          <Fields rules={rules} onWrite={write} />
        ) : (
          <Alert color="yellow" title="The JSON has a fault">
            <Text size="sm" className="wrap">
              {fault} The form is filled again once it is mended; nothing that was typed is lost.
            </Text>
          </Alert>
        )}
      </Stack>
      <details open={isOpen || fault !== undefined} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Text size="sm" component="span">
            The same as JSON
          </Text>
        </summary>
        {(isOpen || fault !== undefined) && (
          <Textarea
            label="Rules as JSON"
            value={text}
            error={fault}
            autosize
            minRows={8}
            maxRows={32}
            spellCheck={false}
            description="JSON Logic over case_type, venue_ids, metadata, attachment_count, attachment_kinds, attachment_labels; the first rule that holds decides. Left empty: a person names each outcome."
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
        <Text size="sm">This version has no rules: a person names each outcome.</Text>
        <Button size="xs" variant="default" onClick={() => onWrite(FIRST)}>
          Add rules
        </Button>
      </Stack>
    );
  const form = formOf(rules);
  if (form !== undefined) return <RulesFields form={form} onChange={onWrite} />;
  return (
    <Alert color="yellow" title="The form cannot show this">
      <Text size="sm">
        Rules are an object with rules (each with when, decision and reason_codes) and a default (decision and
        reason_codes), and nothing else.
      </Text>
      <Group mt="xs">
        <Button size="xs" variant="default" onClick={() => onWrite(FIRST)}>
          Begin anew
        </Button>
      </Group>
    </Alert>
  );
}
