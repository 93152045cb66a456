import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Button, FileInput, Group, Paper, Progress, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Report } from '@sealgate/verify/checks';
import { Section } from '../../shell/page.tsx';
import { ProblemError } from '../../shell/problem.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { saveFile } from '../../shell/save-stream.ts';
import type { SurfaceId } from '../../shell/session.ts';
import { ReportView } from '../verify/report-view.tsx';
import type { checkAuditFile as CheckAuditFile } from './check-audit-file.ts';
import { MAX_EXPORT_CHARACTERS, readAuditExport, readAuditKeys, type AuditArrived } from './read-audit-export.ts';
import * as texts from './texts.ts';

interface Period {
  readonly surface: SurfaceId;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

type Check = Parameters<typeof CheckAuditFile>;

/** Loaded when something is checked. Throws ProblemError for a file that is no export, or a key set that is none. */
async function checked(...given: Check): Promise<Report> {
  const { checkAuditFile } = await import('./check-audit-file.ts');
  return checkAuditFile(...given).catch((cause: unknown) => {
    throw cause instanceof Error ? unusable(cause.message, cause) : cause;
  });
}

function unusable(detail: string, cause?: Error): ProblemError {
  const error = new ProblemError({ title: texts.thisCannotBeChecked, status: 0, code: 'NOT_CHECKED', detail });
  error.cause = cause;
  return error;
}

/** Saves the signed export of the shown period, and checks it or one from a file. */
export function AuditExport({ surface, from, to }: Period): ReactNode {
  const [isChecking, setChecking] = useState(false);
  return (
    <Section title={texts.exportAndItsCheck}>
      <Paper>
        <Stack gap="sm">
          <Text size="sm">{texts.exportHint}</Text>
          <SaveExport surface={surface} from={from} to={to}>
            <Button variant="default" aria-expanded={isChecking} onClick={() => setChecking(!isChecking)}>
              {texts.checkAFile}
            </Button>
          </SaveExport>
          {isChecking && <CheckFiles surface={surface} />}
        </Stack>
      </Paper>
    </Section>
  );
}

function SaveExport({ surface, from, to, children }: Period & { readonly children: ReactNode }): ReactNode {
  const running = useRef<AbortController>(undefined);
  const [arrived, setArrived] = useState<AuditArrived>({ events: 0, pages: 0 });
  useEffect(() => () => running.current?.abort(), []);
  const save = useMutation({
    async mutationFn() {
      const control = new AbortController();
      running.current = control;
      setArrived({ events: 0, pages: 0 });
      const wanted = { surface, from, to, signal: control.signal, onArrived: setArrived };
      const { name, text, events } = await readAuditExport(wanted);
      const report = await checked({ name, text }, { keys: await readAuditKeys(surface) });
      control.signal.throwIfAborted();
      saveFile(new Blob([text], { type: 'application/x-ndjson' }), name);
      return { name, events, report };
    },
  });
  const isCancelled = save.isError && running.current?.signal.aborted === true;
  return (
    <>
      <Group gap="sm">
        <Button loading={save.isPending} onClick={() => save.mutate()}>
          {texts.saveTheSignedExport}
        </Button>
        {save.isPending && (
          <Button variant="default" onClick={() => running.current?.abort()}>
            {texts.cancelTheExport}
          </Button>
        )}
        {children}
      </Group>
      <div role="status">
        {save.isPending && (
          <Stack gap={4}>
            <Text size="sm">{texts.eventsInPages(formatNumber(arrived.events), formatNumber(arrived.pages))}</Text>
            <Progress value={100} animated aria-label={texts.exportList} />
          </Stack>
        )}
        {isCancelled && <Text size="sm">{texts.exportCancelled}</Text>}
        {save.data !== undefined && (
          <Text size="sm" className="wrap">
            {texts.savedEvents(save.data.name, formatNumber(save.data.events))}
          </Text>
        )}
      </div>
      {save.isError && !isCancelled && <ProblemView error={save.error} onRetry={() => save.mutate()} />}
      {save.data !== undefined && <ReportView report={save.data.report} />}
    </>
  );
}

async function textOf(file: File): Promise<{ readonly name: string; readonly text: string }> {
  if (file.size > MAX_EXPORT_CHARACTERS) throw unusable(texts.fileTooLarge(file.name));
  return { name: file.name, text: await file.text() };
}

async function jsonOf(file: File): Promise<unknown> {
  const { text } = await textOf(file);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw unusable(texts.isNoKeySet(file.name), cause as SyntaxError);
  }
}

/** Checks exports from files, by the published keys of the service or by a key set from elsewhere. */
function CheckFiles({ surface }: { readonly surface: SurfaceId }): ReactNode {
  const [file, setFile] = useState<File | null>(null);
  const [earlier, setEarlier] = useState<File | null>(null);
  const [keys, setKeys] = useState<File | null>(null);
  const check = useMutation({
    async mutationFn(exported: File): Promise<Report> {
      const given = keys === null ? await readAuditKeys(surface) : await jsonOf(keys);
      const older = earlier === null ? undefined : await textOf(earlier);
      return checked(await textOf(exported), { keys: given, earlier: older });
    },
  });
  return (
    <form
      aria-label={texts.checkAFile}
      onSubmit={(event) => {
        event.preventDefault();
        if (file !== null) check.mutate(file);
      }}
    >
      <Stack gap="sm">
        <Group gap="sm" align="flex-end">
          <FileInput
            label={texts.exportList}
            placeholder={texts.chooseAFile}
            clearable
            clearButtonProps={{ 'aria-label': texts.clearTheExport }}
            w={230}
            value={file}
            onChange={setFile}
          />
          <FileInput
            label={texts.olderExport}
            placeholder={texts.none}
            clearable
            clearButtonProps={{ 'aria-label': texts.clearTheOlderExport }}
            w={230}
            value={earlier}
            onChange={setEarlier}
          />
          <FileInput
            label={texts.keySet}
            placeholder={texts.thatOfTheService}
            clearable
            clearButtonProps={{ 'aria-label': texts.clearTheKeySet }}
            w={230}
            value={keys}
            onChange={setKeys}
          />
          <Button type="submit" disabled={file === null} loading={check.isPending}>
            {texts.check}
          </Button>
        </Group>
        <Text size="sm" c="dimmed">
          {texts.checkHint}
        </Text>
        {check.isError && <ProblemView error={check.error} />}
        {check.data !== undefined && <ReportView report={check.data} />}
      </Stack>
    </form>
  );
}
