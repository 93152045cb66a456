import type { ReactNode } from 'react';
import { Stack, Text } from '@mantine/core';
import type { FabricProofFile } from '@sealgate/verify/checks';

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
        It names peers of {organizations}, for the record {typeof id === 'string' ? id : 'in the file'} in the channel{' '}
        {channel}, by the transaction {statement.transactionId}.
      </Text>
      <Text>
        Once it is checked with a trust file, it says: peers of the organisations you pinned signed that this record is
        in the channel, valid, by this transaction; not when, not all, not that there is no fork.
      </Text>
    </Stack>
  );
}
