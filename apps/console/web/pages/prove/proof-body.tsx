import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { receiptLogProof } from '@sealgate/envelope';
import type { ReceiptFile } from '@sealgate/verify/checks';
import { LogOfProof } from '../log/log-of-proof.tsx';
import { Reported } from '../verify/reported.tsx';
import type { Checked } from '../verify/check-files.ts';
import { fragmentOf } from '../verify/outsider-link.ts';
import { ReportView } from '../verify/report-view.tsx';
import type { Proven } from './fetch-proof.ts';
import { PeersSigned } from './peers-signed.tsx';
import * as texts from './texts.ts';

/** A proof that was checked here: what was written, drawing, report, downloads, and the link for an outsider. */
export function ProofBody({ proven, name }: { readonly proven: Proven; readonly name: string }): ReactNode {
  const { checked, pack, note } = proven;
  return (
    <Stack gap="md">
      <Judged checked={checked}>
        <Handed proven={proven} name={name} />
        {note !== undefined && <Text size="sm">{note}</Text>}
      </Judged>
      {pack !== undefined && (
        <details>
          <summary>
            {'report' in pack
              ? pack.report.verified
                ? texts.thePackIsVerified
                : texts.thePackIsNotVerified
              : texts.thePackWasNotCheckedHere}
          </summary>
          {'report' in pack ? <ReportView report={pack.report} /> : <Judged checked={pack} />}
        </details>
      )}
    </Stack>
  );
}

interface JudgedProps {
  readonly checked: Checked;
  /** What can be done with it. */
  readonly children?: ReactNode;
}

function Judged({ checked, children }: JudgedProps): ReactNode {
  if (!('report' in checked))
    return (
      <>
        {'peers' in checked && <PeersSigned file={checked.peers} />}
        {'why' in checked && <Text className="wrap">{checked.why}</Text>}
        {children}
      </>
    );
  return (
    <Stack gap="md">
      <Reported result={checked}>
        {children}
        <Text size="sm" c="dimmed">
          {texts.checkedInThisBrowser}
        </Text>
      </Reported>
      {checked.receipt !== undefined && checked.report.verified && (
        <LogOfProof channel={checked.receipt.proof.channel} leafHash={checked.receipt.proof.leafHash} />
      )}
    </Stack>
  );
}

/** The files for `sealgate-verify receipt`, `sealgate-verify proof` and the page Verify, and the link to it. */
function Handed({ proven: { bytes, checked }, name }: { readonly proven: Proven; readonly name: string }): ReactNode {
  // Nothing is made of an invalid proof: its hashes may be arbitrary.
  const file = 'receipt' in checked && checked.report.verified ? checked.receipt : undefined;
  return (
    <Group gap="xs">
      {file !== undefined && <OutsiderLink file={file} />}
      <Save content={bytes} type="application/json" name={`${name}.proof.json`}>
        {texts.saveTheProof}
      </Save>
      {file !== undefined && (
        <Save content={receiptLogProof(file)} type="text/x.tlog-proof" name={`${name}.tlog-proof`}>
          {texts.saveAsTlogProof}
        </Save>
      )}
      <Anchor href="/verify.html" download="verify.html" size="sm">
        {texts.saveThePageThatChecksIt}
      </Anchor>
    </Group>
  );
}

function OutsiderLink({ file }: { readonly file: ReceiptFile }): ReactNode {
  const clipboard = useClipboard({ timeout: 3_000 });
  const [link, setLink] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    void fragmentOf(file).then((fragment) => isCurrent && setLink(`${location.origin}/verify${fragment}`));
    return () => {
      isCurrent = false;
    };
  }, [file]);
  const said = clipboard.error === null ? texts.linkCopied : texts.theBrowserRefusedToCopy;
  return (
    <>
      <Button size="xs" disabled={link === undefined} onClick={() => clipboard.copy(link)}>
        {texts.copyALinkForAnOutsider}
      </Button>
      <Text size="xs" aria-live="polite">
        {clipboard.copied || clipboard.error !== null ? said : ''}
      </Text>
    </>
  );
}

interface SaveProps {
  readonly content: Uint8Array | string;
  readonly type: string;
  readonly name: string;
  readonly children: string;
}

function Save({ content, type, name, children }: SaveProps): ReactNode {
  const address = useMemo(() => {
    const part = typeof content === 'string' ? content : content.slice();
    return URL.createObjectURL(new Blob([part], { type }));
  }, [content, type]);
  return (
    <Button component="a" href={address} download={name} variant="default" size="xs">
      {children}
    </Button>
  );
}
