import { useState, type FormEvent, type ReactNode } from 'react';
import { Alert, Anchor, Button, FileButton, Group, Paper, Select, Stack, Text, TextInput } from '@mantine/core';
import { Link, useParams } from 'react-router';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { useMine } from '../../shell/mine.ts';
import { Page, Section } from '../../shell/page.tsx';
import { asProblem } from '../../shell/problem.ts';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { ownReceiptIn, type OwnReceipt, type Wanted } from './find-entry.ts';
import { LogEntry } from './log-entry.tsx';
import { Checkpoints, Growth } from './log-overview.tsx';
import { usePublicLog } from './public-peer.ts';
import * as texts from './texts.ts';

const KINDS = [
  { value: 'id', label: texts.recordId },
  { value: 'index', label: texts.index },
  { value: 'leafHash', label: texts.leafHash },
] as const;
type Kind = (typeof KINDS)[number]['value'];

/** A file with one proof; larger ones are others. */
const FILE_MAX_BYTES = 8_388_608;

/** One public log: its search, growth and checkpoints. */
export function LogPage(): ReactNode {
  const { channel = '' } = useParams();
  const [own, setOwn] = useState<OwnReceipt>();
  const [wanted, choose] = useUrlFilters(['id', 'index', 'epoch', 'leafHash']);
  const overview = usePublicLog(channel);
  const isAbsent = overview.isError && [401, 404].includes(asProblem(overview.error).status);
  const find = (next: Wanted): void => choose({ id: null, index: null, epoch: null, leafHash: null, ...next });
  return (
    <Page title={channel} above={[{ title: texts.publicLog, to: '/log' }]} intro={texts.logIntro}>
      {isAbsent ? (
        <Paper>
          <ListEmpty title={texts.isNotAPublicLog(channel)} icon="ledger" action={<Elsewhere channel={channel} />}>
            {texts.notAPublicLogHint}
          </ListEmpty>
        </Paper>
      ) : (
        <>
          <Search
            key={JSON.stringify(wanted)}
            wanted={wanted}
            channel={channel}
            onFind={(next) => {
              setOwn(undefined);
              find(next);
            }}
            onFile={(receipt) => {
              setOwn(receipt);
              find({ leafHash: receipt.file.proof.leafHash });
            }}
          />
          {Object.keys(wanted).length > 0 && <LogEntry channel={channel} wanted={wanted} own={own} />}
          {overview.data === undefined ? (
            <Unread read={overview} />
          ) : (
            <>
              <Growth points={overview.data.growth} />
              <Section title={texts.checkpoints}>
                <Checkpoints logs={overview.data.logs} />
              </Section>
            </>
          )}
        </>
      )}
    </Page>
  );
}

/** Where to go from a log that is not public. */
function Elsewhere({ channel }: { readonly channel: string }): ReactNode {
  const { mine } = useMine();
  const ways = [
    ...(mine?.offers('ledger') === true
      ? [{ to: `/ledger/${encodeURIComponent(channel)}`, title: texts.ledgerExplorer }]
      : []),
    { to: '/log', title: texts.allPublicLogs },
    { to: '/verify', title: texts.verify },
  ];
  return (
    <Group gap="md" justify="center">
      {ways.map(({ to, title }) => (
        <Anchor key={to} component={Link} to={to} size="sm">
          {title}
        </Anchor>
      ))}
    </Group>
  );
}

interface SearchProps {
  readonly wanted: Wanted;
  readonly channel: string;
  readonly onFind: (wanted: Wanted) => void;
  readonly onFile: (receipt: OwnReceipt) => void;
}

function Search({ wanted, channel, onFind, onFile }: SearchProps): ReactNode {
  const [kind, setKind] = useState<Kind>(KINDS.find(({ value }) => wanted[value] !== undefined)?.value ?? 'id');
  const [text, setText] = useState(wanted[kind] ?? '');
  const [fault, setFault] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const typed = kind === 'id' ? text : text.trim().toLowerCase();
    const why = faultOf(kind, typed);
    setFault(why);
    if (why === undefined) onFind({ [kind]: typed });
  };
  const open = async (file: File | null): Promise<void> => {
    if (file === null) return;
    try {
      if (file.size > FILE_MAX_BYTES) throw new Error(texts.isTooLargeForAProof(file.name));
      const receipt = ownReceiptIn({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) });
      if (receipt.file.receipt.channel !== channel)
        throw new Error(texts.isOfTheLog(file.name, receipt.file.receipt.channel));
      setFault(undefined);
      onFile(receipt);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Paper component="section" aria-label={texts.search}>
      <Stack gap="sm">
        <form onSubmit={submit} role="search" aria-label={texts.searchInTheLog}>
          <Group align="flex-end" gap="sm">
            <Select
              label={texts.lookFor}
              w={150}
              data={KINDS}
              value={kind}
              allowDeselect={false}
              onChange={(value) => {
                setKind(value ?? 'id');
                setFault(undefined);
              }}
            />
            <TextInput
              label={KINDS.find(({ value }) => value === kind)?.label}
              flex="1 1 16rem"
              maxLength={256}
              spellCheck={false}
              value={text}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
            />
            <Button type="submit">{texts.find}</Button>
            <FileButton onChange={(file) => void open(file)} accept=".json,application/json">
              {(button) => (
                <Button variant="default" {...button}>
                  {texts.findWhatMyFileProves}
                </Button>
              )}
            </FileButton>
          </Group>
        </form>
        <Text size="sm" c="dimmed">
          {texts.searchHint}
        </Text>
        {fault !== undefined && (
          <Alert role="alert" color="red" variant="light">
            <span className="wrap">{fault}</span>
          </Alert>
        )}
      </Stack>
    </Paper>
  );
}

function faultOf(kind: Kind, text: string): string | undefined {
  if (text === '') return texts.emptySearchFault;
  if (kind === 'index' && !/^(0|[1-9]\d{0,14})$/.test(text)) return texts.indexFault;
  if (kind === 'leafHash' && !/^[0-9a-f]{64}$/.test(text)) return texts.leafHashFault;
  return undefined;
}
