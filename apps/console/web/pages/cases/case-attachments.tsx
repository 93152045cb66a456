import { useState, type ReactNode } from 'react';
import { Anchor, Group, Paper, Stack, Text } from '@mantine/core';
import { CodeText, CopyButton } from '../../shell/code-text.tsx';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Section } from '../../shell/page.tsx';
import { quoted } from '../../shell/quoted.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { FingerprintOfFile } from '../fingerprint-of-file.tsx';
import type { CaseDetail } from './case-api.ts';
import * as texts from './case-texts.ts';
import { addressOf } from './reference-link.ts';

type Attachment = CaseDetail['attachments'][number];

const nameOf = ({ label, ref }: Attachment): string => label ?? ref;

/** The references of a case. The gate has no bytes: a reference leads to the file where it is an address. */
export const CaseAttachments = ({ attachments }: { readonly attachments: readonly Attachment[] }): ReactNode => (
  <Section title={texts.attachmentsCounted(attachments.length)}>
    <PlainTable
      label={texts.attachments}
      rows={attachments}
      rowKey={({ attachment_id }) => attachment_id}
      columns={[
        { title: texts.reference, cell: (attachment) => <Reference attachment={attachment} /> },
        { title: texts.kind, width: '9rem', cell: ({ kind }) => (kind === 'vault_ref' ? texts.vault : texts.upload) },
        { title: texts.mediaType, width: '11rem', cell: ({ media_type }) => media_type },
        { title: texts.bytes, width: '8rem', cell: ({ size_bytes }) => formatNumber(size_bytes) },
        {
          title: texts.sha256,
          width: '13rem',
          cell: ({ sha256 }) => <CodeText value={sha256} label={texts.copyTheHash} short={12} />,
        },
      ]}
      empty={
        <ListEmpty title={texts.nothingAttached} icon="file">
          {texts.nothingAttachedHint}
        </ListEmpty>
      }
    />
    {attachments.length > 0 && <CompareFile attachments={attachments} />}
  </Section>
);

function Reference({ attachment }: { readonly attachment: Attachment }): ReactNode {
  const { label, ref } = attachment;
  const address = addressOf(ref);
  const name = <strong>{nameOf(attachment)}</strong>;
  return (
    <div>
      {address === undefined ? (
        name
      ) : (
        <Anchor href={address} target="_blank" rel="noopener noreferrer" size="sm">
          {name} <span className="visually-hidden">{texts.opensInAnotherWindow}</span>
        </Anchor>
      )}
      <Group gap={4} wrap="nowrap">
        {label != null && (
          <Text size="xs" c="dimmed" className="wrap">
            {ref}
          </Text>
        )}
        <CopyButton value={ref} label={texts.copyTheReferenceOf(nameOf(attachment))} />
      </Group>
    </div>
  );
}

/** Tells which attachment a file is, by its hash. */
function CompareFile({ attachments }: { readonly attachments: readonly Attachment[] }): ReactNode {
  const [found, setFound] = useState<{ readonly file: string; readonly sha256: string }>();
  const same = attachments.filter(({ sha256 }) => sha256 === found?.sha256);
  return (
    <Paper component="section" aria-label={texts.compareAFile}>
      <Stack gap="sm">
        <Text size="sm">{texts.theFilesStayInTheirVault}</Text>
        <FingerprintOfFile onFound={(sha256, { name }) => setFound({ file: name, sha256 })} />
        <div aria-live="polite">
          {found !== undefined && (
            <StateBadge tone={same.length > 0 ? 'good' : 'bad'}>
              {same.length > 0
                ? texts.fileIs(quoted(found.file), same.map((one) => quoted(nameOf(one))).reduce(texts.and))
                : texts.isNoneOfTheseAttachments(quoted(found.file))}
            </StateBadge>
          )}
        </div>
      </Stack>
    </Paper>
  );
}
