import type { ReactNode } from 'react';
import { Code, Group, Paper, Stack, Text } from '@mantine/core';
import { CopyButton } from '../../shell/code-text.tsx';
import { Time } from '../../shell/time.tsx';
import type { LogOverview } from './find-entry.ts';
import * as texts from './texts.ts';

type Log = Pick<LogOverview['logs'][number], 'epoch' | 'origin' | 'checkpoint' | 'declaration'>;

interface LogNotesProps {
  readonly logs: readonly Log[];
  /** What is shown above a note. */
  readonly factsOf?: (checkpoint: string, origin: string) => ReactNode;
}

/** The newest signed note of each log of a channel; several only after a declared loss. */
export const LogNotes = ({ logs, factsOf }: LogNotesProps): ReactNode =>
  logs.map(({ epoch, origin, checkpoint, declaration }) => (
    <Paper key={epoch}>
      <Stack gap="xs">
        <Group justify="space-between">
          <Text size="sm" fw={600} className="wrap">
            {origin}
          </Text>
          {checkpoint !== null && <CopyButton value={checkpoint} label={texts.copyTheCheckpoint} />}
        </Group>
        {declaration !== null && (
          <Text size="sm" className="wrap">
            {texts.beginsWithADeclaredLossOf(<Time value={declaration.at} form="day" />, declaration.reason)}
          </Text>
        )}
        {checkpoint === null ? (
          <Text size="sm" c="dimmed">
            {texts.nothingIsSignedYet}
          </Text>
        ) : (
          <>
            {factsOf?.(checkpoint, origin)}
            <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
              {checkpoint}
            </Code>
          </>
        )}
      </Stack>
    </Paper>
  ));
