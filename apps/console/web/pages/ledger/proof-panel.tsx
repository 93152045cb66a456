import type { ReactNode } from 'react';
import { Paper, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { ListLoading } from '../../shell/list-states.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { ProofBody } from '../prove/proof-body.tsx';
import { provableRecord } from '../prove/provable.ts';
import type { LedgerSurface } from './ledger-source.ts';
import * as texts from './texts.ts';

interface ProofPanelProps {
  readonly surface: LedgerSurface;
  readonly record: Schemas['ingestGatewayAdmin']['LedgerRecord'];
}

/** The proof of a record, verified in the browser and drawn. Reports content with a wrong hash. */
export function ProofPanel({ surface, record }: ProofPanelProps): ReactNode {
  const { queryKey, prove, name } = provableRecord(surface, record);
  const proof = useQuery({ queryKey, queryFn: ({ signal }) => prove(signal) });
  return (
    <Stack gap="sm" component="section" aria-label={texts.proof}>
      <Title order={2}>{texts.proof}</Title>
      <Paper>
        {proof.isError && <ProblemView error={proof.error} onRetry={() => void proof.refetch()} />}
        {proof.isPending && <ListLoading rows={5} />}
        {proof.data !== undefined && <ProofBody proven={proof.data} name={name} />}
      </Paper>
    </Stack>
  );
}
