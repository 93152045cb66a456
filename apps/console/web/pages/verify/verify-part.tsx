import type { ReactNode } from 'react';
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { Page } from '../../shell/page.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { useSession } from '../../shell/session.ts';
import { ledgerBy, useLedgerSurface, type LedgerSurface } from '../ledger/ledger-source.ts';
import { VerifyDesk } from './verify-desk.tsx';

/** Verifies files against keys that the reader trusts. */
export function VerifyPart(): ReactNode {
  const { surface } = useLedgerSurface();
  const isSignedIn = useSession().data?.person != null;
  return (
    <Page
      title="Verify"
      intro="Checks in this page what sealgate-verify checks, but for whole logs and logs of decisions: proofs (tlog-proof files too), answers, checkpoints, declared losses, envelopes, eligibility records, packs, deliveries and signed documents. The same page also works from a disk: npx sealgate-verify page says where it lies."
    >
      <VerifyDesk
        helpWithKeys={(use) =>
          isSignedIn && surface !== undefined ? <PublishedKeys surface={surface} use={use} /> : null
        }
      />
    </Page>
  );
}

function PublishedKeys({ surface, use }: { surface: LedgerSurface; use: (keys: string) => void }): ReactNode {
  const reading = useMutation({
    mutationFn: () => dataOf(ledgerBy(surface).GET('/admin/v1/ledger/keys')),
    onSuccess: ({ keys }) => use(keys.map(({ verifierKey }) => verifierKey).join('\n')),
  });
  return (
    <>
      <Button variant="default" size="xs" w="fit-content" loading={reading.isPending} onClick={() => reading.mutate()}>
        Use this ledger’s published keys
      </Button>
      {reading.isError && <ProblemView error={reading.error} />}
    </>
  );
}
