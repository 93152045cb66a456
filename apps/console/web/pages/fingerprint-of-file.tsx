import { useState, type ReactNode } from 'react';
import { TextInput } from '@mantine/core';

/** Most bytes of a file that is hashed here: it is read whole. */
const FILE_MAX_BYTES = 256 * 1024 * 1024;

/** Hashes a file in the browser, as 64 lower-case hexadecimal digits: the file itself is sent nowhere. */
export function FingerprintOfFile({ onFound }: { readonly onFound: (sha256: string, file: File) => void }): ReactNode {
  const [fault, setFault] = useState<string>();
  const read = async (file: File) => {
    if (file.size > FILE_MAX_BYTES)
      return setFault('This file is larger than 256 MiB: hash it elsewhere and enter the digits.');
    setFault(undefined);
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
    const digits = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'));
    onFound(digits.join(''), file);
  };
  return (
    <TextInput
      {...{ type: 'file', label: 'File', description: 'It is hashed in this browser and sent nowhere.', error: fault }}
      onChange={({ currentTarget: { files } }) => {
        const file = files?.[0];
        if (file !== undefined) read(file).catch(() => setFault('The browser could not read this file.'));
      }}
    />
  );
}
