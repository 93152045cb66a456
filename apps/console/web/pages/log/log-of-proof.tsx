import type { ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { useMine } from '../../shell/mine.ts';
import { logPath, usePublicLogs } from './public-peer.ts';
import * as texts from './texts.ts';

interface LogOfProofProps {
  readonly channel: string;
  readonly leafHash: string;
}

/** Where the entry of a proof can be looked up; nothing where no public log is served. */
export function LogOfProof({ channel, leafHash }: LogOfProofProps): ReactNode {
  const { data: channels } = usePublicLogs();
  const { mine } = useMine();
  if (channels === undefined) return null;
  if (channels.includes(channel))
    return (
      <Text size="sm">
        {texts.itsLogIsPublic(
          <Anchor component={Link} to={logPath(channel, leafHash)} size="sm" underline="always">
            {texts.lookThisEntryUpIn(channel)}
          </Anchor>,
        )}
      </Text>
    );
  return (
    <Text size="sm" className="wrap">
      {texts.itsLogIsNotPublic(channel)}{' '}
      {mine?.offers('ledger') === true &&
        texts.youMayReadItIn(
          <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}`} size="sm" underline="always">
            {texts.inTheLedgerExplorer}
          </Anchor>,
        )}
    </Text>
  );
}
