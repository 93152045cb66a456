import { useState, type ReactNode } from 'react';
import { TextInput } from '@mantine/core';
import * as texts from './texts.ts';

/** Maximum size of a file to hash: it is read into memory. */
const FILE_MAX_BYTES = 256 * 1024 * 1024;

/** Hashes a file in the browser, to 64 lower-case hexadecimal digits; the file is not uploaded. */
export function FingerprintOfFile({ onFound }: { readonly onFound: (sha256: string, file: File) => void }): ReactNode {
  const [fault, setFault] = useState<string>();
  const read = async (file: File) => {
    if (file.size > FILE_MAX_BYTES) return setFault(texts.fileTooLarge);
    setFault(undefined);
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
    const digits = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'));
    onFound(digits.join(''), file);
  };
  return (
    <TextInput
      type="file"
      label={texts.file}
      description={texts.fileHint}
      error={fault}
      onChange={({ currentTarget: { files } }) => {
        const file = files?.[0];
        if (file !== undefined) read(file).catch(() => setFault(texts.fileUnreadable));
      }}
    />
  );
}
