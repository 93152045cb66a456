import type { ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { useMine } from '../../shell/mine.ts';
import { logPath, usePublicLogs } from './public-peer.ts';

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
        Its log is public:{' '}
        <Anchor component={Link} to={logPath(channel, leafHash)} size="sm" underline="always">
          look this entry up in {channel}
        </Anchor>
        .
      </Text>
    );
  return (
    <Text size="sm" className="wrap">
      Its log, {channel}, is not public: it cannot be looked up there without a right to read it. This proof does not
      need that: it is checked by the key of the log alone.
      {mine?.offers('ledger') === true && (
        <>
          {' '}
          You may read it{' '}
          <Anchor component={Link} to={`/ledger/${encodeURIComponent(channel)}`} size="sm" underline="always">
            in the ledger explorer
          </Anchor>
          .
        </>
      )}
    </Text>
  );
}
