import type { ReactNode } from 'react';
import { TextInput } from '@mantine/core';

interface TextFilterProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly placeholder?: string;
  readonly width?: number;
  readonly onSet: (value: string | null) => void;
}

/** A text filter, applied on Enter or when the field loses focus. */
export const TextFilter = ({ label, value = '', placeholder, width = 170, onSet }: TextFilterProps): ReactNode => (
  <TextInput
    key={value}
    label={label}
    defaultValue={value}
    w={width}
    maxLength={200}
    {...(placeholder !== undefined && { placeholder })}
    onBlur={({ currentTarget }) => currentTarget.value.trim() !== value && onSet(currentTarget.value.trim() || null)}
    onKeyDown={({ key, currentTarget }) => key === 'Enter' && onSet(currentTarget.value.trim() || null)}
  />
);
