import type { ReactNode } from 'react';
import { Drawer } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useFocusBack } from '../../shell/focus-back.ts';
import { ListLoading } from '../../shell/list-states.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { ProofBody } from './proof-body.tsx';
import type { Provable } from './provable.ts';
import * as texts from './texts.ts';

/** The proof of one thing, beside its page. */
export function ProveDrawer({ of, onClose }: { readonly of: Provable; readonly onClose: () => void }): ReactNode {
  useFocusBack();
  const proof = useQuery({ queryKey: of.queryKey, queryFn: ({ signal }) => of.prove(signal), retry: false });
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="72rem"
      title={texts.proveNamed(of.title)}
      closeButtonProps={{ 'aria-label': texts.close }}
    >
      {proof.isError && <ProblemView error={proof.error} onRetry={() => void proof.refetch()} />}
      {proof.isPending && <ListLoading rows={5} />}
      {proof.data !== undefined && <ProofBody proven={proof.data} name={of.name} />}
    </Drawer>
  );
}
