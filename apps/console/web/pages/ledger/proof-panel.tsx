import { useMemo, type ReactNode } from 'react';
import { Anchor, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { receiptLogProof } from '@sealgate/envelope';
import { consoleFetch, dataOf } from '../../shell/console-fetch.ts';
import { ListLoading } from '../../shell/list-states.tsx';
import { ProblemView } from '../../shell/problem-view.tsx';
import { problemFrom } from '../../shell/problem.ts';
import { checkProof, type Checked } from '../verify/check-files.ts';
import { ProofDrawing } from '../verify/proof-drawing.tsx';
import { ReportView } from '../verify/report-view.tsx';
import { ledgerBy, type LedgerSurface } from './ledger-source.ts';

interface ProofPanelProps {
  readonly surface: LedgerSurface;
  readonly record: Schemas['ingestGatewayAdmin']['LedgerRecord'];
}

/** The unchanged bytes of the service, for verification and for saving. */
async function bytesOf(path: string, signal: AbortSignal): Promise<Uint8Array> {
  const response = await consoleFetch(path, { signal });
  if (response.ok) return new Uint8Array(await response.arrayBuffer());
  const body: unknown = await response.json().catch(() => undefined);
  throw problemFrom(response, body, Date.now());
}

/** Fetches the proof of a record, verifies it in the browser, and draws it. Reports content with a wrong hash. */
export function ProofPanel({ surface, record }: ProofPanelProps): ReactNode {
  const { channel, id } = record;
  const proof = useQuery({
    queryKey: ['ledger', surface, 'proof', channel, id, record.erased],
    queryFn: async ({ signal }) => {
      const path = `/admin/${surface}/admin/v1/ledger/channels/${encodeURIComponent(channel)}/records/${encodeURIComponent(id)}`;
      const [sent, content, { keys }] = await Promise.all([
        bytesOf(`${path}/proof`, signal),
        bytesOf(path, signal),
        dataOf(ledgerBy(surface).GET('/admin/v1/ledger/keys', { signal })),
      ]);
      const logKeys = keys.map(({ verifierKey }) => verifierKey).join('\n');
      const bytes = besideContent(sent, content);
      return { bytes, checked: await checkProof(bytes, logKeys) };
    },
  });
  return (
    <Stack gap="sm" component="section" aria-label="Proof">
      <Group justify="space-between">
        <Title order={2}>Proof</Title>
        {proof.data !== undefined && <SaveProof {...proof.data} name={id.slice(0, 60)} />}
      </Group>
      <Paper>
        {proof.isError && <ProblemView error={proof.error} onRetry={() => void proof.refetch()} />}
        {proof.isPending && <ListLoading rows={5} />}
        {proof.data !== undefined && <Judged checked={proof.data.checked} />}
      </Paper>
    </Stack>
  );
}

/** Builds `{receipt, proof, record}` by concatenation, as parsing and serialising could change numbers. */
function besideContent(proof: Uint8Array, record: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(proof).trimEnd();
  const content = new TextDecoder().decode(record);
  return new TextEncoder().encode(`${text.slice(0, text.lastIndexOf('}'))},"record":${content}}`);
}

function Judged({ checked }: { checked: Checked }): ReactNode {
  if (checked.kind === 'unreadable') return <Text className="wrap">{checked.why}</Text>;
  if (!('report' in checked)) return null;
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed">
        Checked in this browser against the keys that this ledger publishes.
      </Text>
      {'receipt' in checked && checked.receipt !== undefined && (
        <ProofDrawing file={checked.receipt} report={checked.report} />
      )}
      {checked.report.verified ? (
        <details>
          <summary>All that was checked</summary>
          <ReportView report={checked.report} />
        </details>
      ) : (
        <ReportView report={checked.report} />
      )}
    </Stack>
  );
}

/** The file for `sealgate-verify receipt`, `sealgate-verify proof` and the page Verify. */
function SaveProof({ bytes, checked, name }: { bytes: Uint8Array; checked: Checked; name: string }): ReactNode {
  // Nothing is made of an invalid proof: its hashes may be arbitrary.
  const file = 'receipt' in checked && checked.report.verified ? checked.receipt : undefined;
  return (
    <Group gap="xs">
      <Save content={bytes} type="application/json" name={`${name}.proof.json`}>
        Save the proof
      </Save>
      {file !== undefined && (
        <Save content={receiptLogProof(file)} type="text/x.tlog-proof" name={`${name}.tlog-proof`}>
          Save as tlog-proof
        </Save>
      )}
      <Anchor href="/verify" size="sm">
        Check it elsewhere
      </Anchor>
    </Group>
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
