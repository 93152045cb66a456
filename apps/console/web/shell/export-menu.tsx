import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Button, Group, Menu, Paper, Progress, Text } from '@mantine/core';
import { formatNumber } from './formats.ts';
import { ProblemView } from './problem-view.tsx';
import { readExport, saveFile, type Arrived } from './save-stream.ts';
import * as texts from './texts.ts';
import { totalInWords, type Total } from './total.ts';

/** Where all of a list is read from, with its filters. */
export interface ExportOf {
  /** The path of the route on the console's server. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name of the file, if the service gives none. */
  readonly name: string;
}

type Format = 'csv' | 'jsonl';

const FORMATS: readonly { readonly format: Format; readonly label: string }[] = [
  { format: 'csv', label: texts.csv },
  { format: 'jsonl', label: texts.jsonLines },
];

type Saving =
  | { readonly state: 'idle' }
  | { readonly state: 'reading'; readonly arrived: Arrived }
  | { readonly state: 'saved'; readonly name: string; readonly rows: number }
  | { readonly state: 'cancelled' }
  | { readonly state: 'failed'; readonly error: unknown; readonly format: Format };

/** How often progress is drawn. */
const DRAWN_EVERY_MS = 150;

/** Reads an export with progress; leaving the page cancels it. */
export function useExport(of: ExportOf | undefined) {
  const [saving, setSaving] = useState<Saving>({ state: 'idle' });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const begin = async (format: Format): Promise<void> => {
    if (of === undefined) return;
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    setSaving({ state: 'reading', arrived: { bytes: 0, rows: 0 } });
    let drawnAtMs = 0;
    const onArrived = (arrived: Arrived): void => {
      if (Date.now() - drawnAtMs < DRAWN_EVERY_MS || control.signal.aborted) return;
      drawnAtMs = Date.now();
      setSaving({ state: 'reading', arrived });
    };
    try {
      const read = { url: urlOf(of, format), headers: of.headers, format, signal: control.signal, onArrived };
      const { file, rows, name = `${of.name}.${format}` } = await readExport(read);
      control.signal.throwIfAborted();
      saveFile(file, name);
      setSaving({ state: 'saved', name, rows });
    } catch (error) {
      if (!control.signal.aborted) setSaving({ state: 'failed', error, format });
    }
  };
  const cancel = (): void => {
    running.current?.abort();
    setSaving({ state: 'cancelled' });
  };
  return { saving, begin: (format: Format) => void begin(format), cancel };
}

function urlOf({ path, query = {} }: ExportOf, format: Format): string {
  const set = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return `${path}?${new URLSearchParams([...set, ['format', format]])}`;
}

type Exporting = ReturnType<typeof useExport>;

export const ExportMenu = ({ saving, begin }: Exporting): ReactNode => (
  <Menu position="bottom-end">
    <Menu.Target>
      <Button variant="default" disabled={saving.state === 'reading'}>
        {texts.exportList}
      </Button>
    </Menu.Target>
    <Menu.Dropdown>
      {FORMATS.map(({ format, label }) => (
        <Menu.Item key={format} onClick={() => begin(format)}>
          {label}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  </Menu>
);

/** 3,400,000 is 3.4 MB. */
function sizeInWords(bytes: number): string {
  const step = Math.min(texts.sizeUnits.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const size = formatNumber(bytes / 1_000 ** step);
  return `${size} ${texts.sizeUnits[step] ?? ''}`;
}

const rowsInWords = (rows: number): string => texts.rows(rows, formatNumber(rows));

/** The progress of an export, and what became of it. */
export function ExportProgress({
  saving,
  begin,
  cancel,
  total,
}: Exporting & { readonly total: Total | undefined }): ReactNode {
  const words = wordsOf(saving, total);
  return (
    <>
      <div role="status">
        {words !== undefined && (
          <Paper p="xs">
            <Group gap="sm" justify="space-between">
              <Text size="sm" className="wrap">
                {words}
              </Text>
              {saving.state === 'reading' && (
                <Button size="compact-sm" variant="default" onClick={cancel}>
                  {texts.cancelTheExport}
                </Button>
              )}
            </Group>
            {saving.state === 'reading' && (
              <Progress
                mt={6}
                aria-label={texts.exportList}
                animated={typeof total !== 'number'}
                value={typeof total === 'number' && total > 0 ? (100 * saving.arrived.rows) / total : 100}
              />
            )}
          </Paper>
        )}
      </div>
      {saving.state === 'failed' && (
        <ProblemView error={saving.error} onRetry={() => begin(saving.format)}>
          <Text size="sm">{texts.noFileWasSaved}</Text>
        </ProblemView>
      )}
    </>
  );
}

function wordsOf(saving: Saving, total: Total | undefined): string | undefined {
  if (saving.state === 'reading') {
    const { rows, bytes } = saving.arrived;
    const size = sizeInWords(bytes);
    return typeof total === 'number'
      ? texts.exportingOfTotal(rowsInWords(rows), totalInWords(total), size)
      : texts.exporting(rowsInWords(rows), size);
  }
  if (saving.state === 'saved') return texts.saved(saving.name, rowsInWords(saving.rows));
  return saving.state === 'cancelled' ? texts.exportCancelled : undefined;
}
