import type { ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import type { FabricProofFile } from '@sealgate/verify/checks';
import * as texts from './texts.ts';

/** What a proof on Fabric says, and does not say. Nobody has checked it here: the organisations are not pinned. */
export function PeersSigned({
  file: { channel, view, statement, receipt },
}: {
  readonly file: FabricProofFile;
}): ReactNode {
  const organizations = [...new Set(view.responses.map(({ mspId }) => mspId))].join(', ');
  const id = receipt?.object['id'];
  return (
    <Stack gap="xs">
      <Text className="wrap">
        {typeof id === 'string'
          ? texts.namesPeersForRecord(organizations, id, channel, statement.transactionId)
          : texts.namesPeersForFile(organizations, channel, statement.transactionId)}
      </Text>
      <Text>{texts.peersSignedMeans}</Text>
    </Stack>
  );
}
