import type { ReactNode } from 'react';
import { Alert, Code, Group, Text } from '@mantine/core';
import { CodeText, CopyButton } from '../shell/code-text.tsx';
import { Fact } from '../shell/page.tsx';
import { quoted } from '../shell/quoted.ts';
import { ShownOnce } from './shown-once.tsx';

interface KeyShownProps {
  readonly label: string;
  readonly rawKey: string;
  /** What it reaches, each with a label. */
  readonly reach?: readonly (readonly [label: string, value: string])[];
  /** A shell command that uses the key from `$KEY`. */
  readonly curl: string;
  readonly onClose: () => void;
}

/** Shows a new key, once. */
export const KeyShown = ({ label, rawKey, reach = [], curl, onClose }: KeyShownProps): ReactNode => (
  <ShownOnce title={`Key ${quoted(label)}`} onClose={onClose}>
    <Alert color="yellow" variant="light" title="This key is shown once">
      Copy it now: it is stored as a hash and nobody can show it again.
    </Alert>
    <Text size="sm" fw={600}>
      Key
    </Text>
    <CodeText value={rawKey} label="the key" />
    {reach.map(([name, value]) => (
      <Fact key={name} label={name}>
        {value}
      </Fact>
    ))}
    <Group justify="space-between">
      <Text size="sm" fw={600}>
        Try it
      </Text>
      <CopyButton value={curl} label="Copy the line" />
    </Group>
    <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {curl}
    </Code>
  </ShownOnce>
);
