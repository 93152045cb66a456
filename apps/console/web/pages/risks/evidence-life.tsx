import { useState, type ReactNode } from 'react';
import { Button, Group, Paper, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useNavigate } from 'react-router';
import { api, useReload } from '../../shell/api.ts';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { FingerprintOfFile } from '../fingerprint-of-file.tsx';
import { actorOf, BOARD, stepsOf, type Evidence, type Step } from './evidence-rules.ts';
import { useOrganization, usePersonName } from './organization.tsx';
import { Status } from './record-values.tsx';
import { RISKS } from './risk-api.ts';
import * as texts from './texts.ts';

/** The state of evidence, who has to act, and the actions of this person. */
export function EvidenceLife({ evidence }: { readonly evidence: Evidence }): ReactNode {
  const { me, may } = useOrganization();
  const [step, setStep] = useState<Step>();
  const steps = may('evidence:update') ? stepsOf(evidence, me.personId) : [];
  return (
    <Paper>
      <Group justify="space-between" gap="sm">
        <Stack gap={4}>
          <Status value={evidence.state} />
          <Text size="sm">
            <WhoActs evidence={evidence} />
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

/** Who has to act, by name where it is a person. */
function WhoActs({ evidence }: { readonly evidence: Evidence }): ReactNode {
  const { me } = useOrganization();
  const nameOf = usePersonName();
  const { says } = BOARD.find(({ state }) => state === evidence.state)!;
  const actor = actorOf(evidence);
  if (evidence.state === 'in_review' && evidence.collectedBy === me.personId)
    return texts.ownWorkIsReviewedByOthers(says);
  if (actor === undefined) return `${says}.`;
  const name = actor === me.personId ? <strong>{texts.you}</strong> : <span className="wrap">{nameOf(actor)}</span>;
  return (
    <>
      {says}: {name}.
    </>
  );
}

interface StepProps {
  readonly evidence: Evidence;
  readonly step: Step;
  readonly onClose: () => void;
}

/** Makes the transition; a new version of approved evidence is a new record, which is opened. */
function useStep({ evidence, onClose }: StepProps) {
  const { to } = useOrganization();
  const navigate = useNavigate();
  const reload = useReload();
  return api.useMutation('post', '/api/risk-partner/api/evidence/{id}/transitions', {
    onSuccess: async ({ id }) => {
      await reload(RISKS);
      onClose();
      if (id !== evidence.id) await navigate(to(`evidence/${encodeURIComponent(id)}`));
    },
  });
}

const isFingerprint = (digits: string): boolean => /^[0-9a-f]{64}$/.test(digits);

function StepDialog(props: StepProps): ReactNode {
  const { evidence, step, onClose } = props;
  const { inOrg } = useOrganization();
  const move = useStep(props);
  const needsHash = step.asks === 'fingerprint' && evidence.kind !== 'link';
  const form = useForm({
    initialValues: { reason: '', sha256: '' },
    validate: {
      reason: (reason) => (step.asks === 'reason' ? filled(reason) : null),
      sha256: (digits) => (needsHash && !isFingerprint(digits) ? texts.hashFault : null),
    },
  });
  const send = ({ reason, sha256 }: typeof form.values): void =>
    move.mutate({
      ...inOrg,
      params: { path: { id: evidence.id } },
      body: { to: step.to, ...(reason.trim() !== '' && { reason: reason.trim() }), ...(sha256 !== '' && { sha256 }) },
    });
  return (
    <FormDialog
      title={step.label}
      action={step.label}
      form={form}
      doing={move}
      onSubmit={send}
      {...(step.to === 'revoked' && { tone: 'danger' })}
      onClose={onClose}
    >
      <Text size="sm" className="wrap">
        {evidence.title}
      </Text>
      {step.asks === 'fingerprint' ? (
        <>
          <FingerprintOfFile onFound={(found) => form.setFieldValue('sha256', found)} />
          <TextInput
            label={texts.sha256OfTheContent}
            description={texts.sha256OfTheContentHint}
            required={needsHash}
            maxLength={64}
            {...form.getInputProps('sha256')}
            onChange={(event) => form.setFieldValue('sha256', event.currentTarget.value.trim().toLowerCase())}
          />
        </>
      ) : (
        <Textarea
          label={texts.reason}
          required={step.asks === 'reason'}
          maxLength={2000}
          autosize
          minRows={2}
          {...form.getInputProps('reason')}
        />
      )}
    </FormDialog>
  );
}
