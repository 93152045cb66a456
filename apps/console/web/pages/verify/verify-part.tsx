import type { ReactNode } from 'react';
import { Anchor, Text } from '@mantine/core';
import { Link, useLocation } from 'react-router';
import { useMayAdmin } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { useSession } from '../../shell/session.ts';
import { useLedgerSurface } from '../ledger/ledger-source.ts';
import { LogOfProof } from '../log/log-of-proof.tsx';
import { adminLogKeys, keySetPath, keySetText, publicLogKeys, publishes } from '../prove/take-keys.ts';
import { hasProof } from './outsider-link.ts';
import { notesIn } from './published-keys.ts';
import type { PublishedKeys } from './published.tsx';
import { sortFile, type NamedFile } from './sort-file.ts';
import * as texts from './texts.ts';
import { VerifyDesk } from './verify-desk.tsx';

/** Verifies files against keys that the reader trusts. */
export function VerifyPart(): ReactNode {
  const isPublic = publishes(useSession().data, 'ledger-peer');
  const isLinked = hasProof(useLocation().hash);
  const save = (
    <Anchor href="/verify.html" download="verify.html" size="sm" underline="always">
      {texts.saveThisPageAsOneFile}
    </Anchor>
  );
  const log = (
    <Anchor component={Link} to="/log" size="sm" underline="always">
      {texts.lookUpInPublicLog}
    </Anchor>
  );
  const intro = (
    <>
      {texts.verifyIntro} {isPublic ? texts.saveOrLookUp(save, log) : texts.saveToCheckOffline(save)}
    </>
  );
  return (
    <Page title={texts.verify} {...(!isLinked && { intro })}>
      <VerifyDesk
        published={usePublished()}
        besideReceipt={({ proof }) => <LogOfProof channel={proof.channel} leafHash={proof.leafHash} />}
      />
      {isLinked && (
        <Text c="dimmed" size="sm" maw={760} component="div">
          {intro}
        </Text>
      )}
    </Page>
  );
}

/** The keys of the ledger that the reader may ask, else those that the ledger peer publishes to everybody. */
function usePublished(): PublishedKeys | undefined {
  const session = useSession().data;
  const { surface } = useLedgerSurface();
  const mayRead = useMayAdmin(surface ?? 'ingest-gateway', 'admin:read');
  const admin = mayRead ? surface : undefined;
  const isPublic = publishes(session, 'ledger-peer');
  if (admin === undefined && !isPublic) return undefined;
  const where = isPublic ? new URL(keySetPath('ledger-peer'), location.origin).href : texts.keysOfSurface(admin ?? '');
  const take = async (files: readonly NamedFile[]) => {
    const notes = notesIn(files);
    if (admin === undefined && notes.length === 0) throw new Error(texts.openTheProofFirst);
    const kinds = new Set(files.map((file) => sortFile(file).is));
    const signer = kinds.has('pack') ? 'case-gate' : kinds.has('envelope') ? 'risk-partner' : undefined;
    return {
      logKeys: admin === undefined ? await publicLogKeys(notes) : await adminLogKeys(admin),
      ...(signer !== undefined && publishes(session, signer) && { jwks: await keySetText(signer) }),
    };
  };
  return { where, take };
}
