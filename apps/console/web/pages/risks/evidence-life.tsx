import { useState, type ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { dataOf } from '../../shell/console-fetch.ts';
import { FormDialog } from '../form-dialog.tsx';
import { FingerprintOfFile } from '../fingerprint-of-file.tsx';
import { actorOf, BOARD, stepsOf, type Evidence, type Step } from './evidence-rules.ts';
import { useOrganization, usePersonName } from './organization.tsx';
import { Status } from './record-values.tsx';

/** The state of evidence, who has to act, and the actions of this person. */
export function EvidenceLife({ evidence }: { readonly evidence: Evidence }): ReactNode {
  const { me, may } = useOrganization();
  const [step, setStep] = useState<Step>();
  const nameOf = usePersonName();
  const steps = may('evidence:update') ? stepsOf(evidence, me.personId) : [];
  const { acts, does } = BOARD.find(({ state }) => state === evidence.state)!;
  const actor = actorOf(evidence);
  return (
    <Paper>
      <Group justify="space-between" gap="sm">
        <Stack gap={4}>
          <Status value={evidence.state} />
          <Text size="sm">
            {`${acts} ${does}`}
            {actor !== undefined && (
              <>: {actor === me.personId ? <strong>you</strong> : <span className="wrap">{nameOf(actor)}</span>}</>
            )}
            {evidence.state === 'in_review' &&
              evidence.collectedBy === me.personId &&
              '. You collected it, so somebody else reviews it'}
            .
          </Text>
        </Stack>
        <Group gap="xs">
          {steps.map((each) => (
            <Button key={each.to} variant={each.asks === 'reason' ? 'default' : 'filled'} onClick={() => setStep(each)}>
              {each.label}
            </Button>
          ))}
        </Group>
      </Group>
      {step !== undefined && <StepDialog evidence={evidence} step={step} onClose={() => setStep(undefined)} />}
    </Paper>
  );
}

interface StepProps {
  readonly evidence: Evidence;
  readonly step: Step;
  readonly onClose: () => void;
}

interface Typed {
  readonly reason: string;
  readonly sha256: string;
}

/** Makes the transition; a new version of approved evidence is a new record, which is opened. */
function useStep({ evidence, step, onClose }: StepProps) {
  const { client, to } = useOrganization();
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ reason, sha256 }: Typed) =>
      dataOf(
        client.POST('/api/evidence/{id}/transitions', {
          params: { path: { id: evidence.id } },
          body: { to: step.to, ...(reason !== '' && { reason }), ...(sha256 !== '' && { sha256 }) },
        }),
      ),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['risks'] });
      onClose();
      if (id !== evidence.id) await navigate(to(`evidence/${encodeURIComponent(id)}`));
    },
  });
}

function StepDialog(props: StepProps): ReactNode {
  const { evidence, step, onClose } = props;
  const [reason, setReason] = useState('');
  const [sha256, setSha256] = useState('');
  const move = useStep(props);
  const needsHash = step.asks === 'fingerprint' && evidence.kind !== 'link';
  const isReady = (step.asks !== 'reason' || reason.trim() !== '') && (!needsHash || /^[0-9a-f]{64}$/.test(sha256));
  return (
    <FormDialog
      title={step.label}
      action={step.label}
      doing={move}
      onSubmit={() => move.mutate({ reason: reason.trim(), sha256 })}
      isReady={isReady}
      {...(step.to === 'revoked' && { tone: 'danger' })}
      onClose={onClose}
    >
      <Text size="sm" className="wrap">
        {evidence.title}
      </Text>
      {step.asks === 'fingerprint' ? (
        <>
          <FingerprintOfFile onFound={(found) => setSha256(found)} />
          <TextInput
            label="SHA-256 of the content"
            description="64 hexadecimal digits."
            required={needsHash}
            value={sha256}
            maxLength={64}
            onChange={(event) => setSha256(event.currentTarget.value.trim().toLowerCase())}
          />
        </>
      ) : (
        <Textarea
          label="Reason"
          required={step.asks === 'reason'}
          maxLength={2000}
          autosize
          minRows={2}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      )}
    </FormDialog>
  );
}
