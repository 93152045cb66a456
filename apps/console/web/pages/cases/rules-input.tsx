import type { ReactNode } from 'react';
import { Textarea } from '@mantine/core';

/** The rules as typed; an empty text is a version without rules. */
export function parseRules(text: string): { readonly rules: unknown; readonly fault: string | undefined } {
  if (text.trim() === '') return { rules: null, fault: undefined };
  try {
    return { rules: JSON.parse(text) as unknown, fault: undefined };
  } catch (error) {
    return { rules: undefined, fault: error instanceof Error ? error.message : 'This is no JSON.' };
  }
}

interface RulesInputProps {
  readonly text: string;
  readonly fault: string | undefined;
  readonly onChange: (text: string) => void;
}

export const RulesInput = ({ text, fault, onChange }: RulesInputProps): ReactNode => (
  <Textarea
    label="Rules"
    value={text}
    error={fault}
    autosize
    minRows={8}
    maxRows={24}
    spellCheck={false}
    description="JSON Logic over case_type, venue_ids, metadata, attachment_count, attachment_kinds, attachment_labels; the first rule that holds decides. Left empty: a person names each outcome."
    styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.82rem' } }}
    onChange={(event) => onChange(event.currentTarget.value)}
  />
);
