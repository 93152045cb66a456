import type { ReactNode } from 'react';
import { Anchor, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { CodeText } from '../../shell/code-text.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Fact, Section } from '../../shell/page.tsx';
import { asProblem } from '../../shell/problem.ts';
import { Time } from '../../shell/time.tsx';
import { ProofDrawing } from '../verify/proof-drawing.tsx';
import { Reported } from '../verify/reported.tsx';
import { ReportView } from '../verify/report-view.tsx';
import { findEntry, type Found, type OwnReceipt, type Wanted } from './find-entry.ts';
import * as texts from './texts.ts';

interface EntryProps {
  readonly channel: string;
  readonly wanted: Wanted;
  readonly own: OwnReceipt | undefined;
}

/** The entry that is looked for, or that there is none. */
export function LogEntry({ channel, wanted, own }: EntryProps): ReactNode {
  const entry = useQuery({
    queryKey: ['log', channel, 'entry', wanted, own?.name, own?.file.receipt],
    queryFn: ({ signal }) => findEntry(channel, { wanted, own }, signal),
  });
  const isAbsent = entry.isError && asProblem(entry.error).status === 404;
  return (
    <Section title={texts.entry}>
      <Paper aria-live="polite">
        {isAbsent ? (
          <ListEmpty title={texts.theLogHasNoSuchEntry} icon="search">
            {texts.theLogHasNoSuchEntryHint}
          </ListEmpty>
        ) : (
          <Unread read={entry} rows={4} />
        )}
        {entry.data !== undefined && <Shown found={entry.data} />}
      </Paper>
    </Section>
  );
}

function Shown({ found: { at, proof, report, own } }: { readonly found: Found }): ReactNode {
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        <Fact label={texts.index}>{formatNumber(proof.index)}</Fact>
        <Fact label={texts.written}>{at === null ? texts.itsTimeIsInTheArchive : <Time value={at} />}</Fact>
        <Fact label={texts.leafHash}>
          <CodeText value={proof.leafHash} label={texts.copyTheLeafHash} short={16} />
        </Fact>
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        {texts.checkedInThisBrowser}
      </Text>
      {own !== undefined && 'report' in own ? (
        <Reported result={own} />
      ) : (
        <>
          <ReportView report={report} />
          <ProofDrawing file={{ proof }} report={report} />
          <Text size="sm">
            {texts.toSeeWhatWasWrittenAt(
              <Anchor component={Link} to="/verify" size="sm" underline="always">
                {texts.verify}
              </Anchor>,
            )}
          </Text>
        </>
      )}
    </Stack>
  );
}
