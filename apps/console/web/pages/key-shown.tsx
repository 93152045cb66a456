import type { ReactNode } from 'react';
import { Alert, Code, Group, Text } from '@mantine/core';
import { CodeText, CopyButton } from '../shell/code-text.tsx';
import { Fact } from '../shell/page.tsx';
import { quoted } from '../shell/quoted.ts';
import { ShownOnce } from './shown-once.tsx';
import * as texts from './texts.ts';

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
  <ShownOnce title={texts.keyTitle(quoted(label))} onClose={onClose}>
    <Alert color="yellow" variant="light" title={texts.thisKeyIsShownOnce}>
      {texts.copyKeyNow}
    </Alert>
    <Text size="sm" fw={600}>
      {texts.key}
    </Text>
    <CodeText value={rawKey} label={texts.copyTheKey} />
    {reach.map(([name, value]) => (
      <Fact key={name} label={name}>
        {value}
      </Fact>
    ))}
    <Group justify="space-between">
      <Text size="sm" fw={600}>
        {texts.tryIt}
      </Text>
      <CopyButton value={curl} label={texts.copyTheLine} />
    </Group>
    <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {curl}
    </Code>
  </ShownOnce>
);
