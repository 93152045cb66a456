import type { ReactNode } from 'react';
import { Button, Group, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useNavigate } from 'react-router';
import * as texts from './texts.ts';

interface JumpProps {
  readonly label: string;
  readonly onNumber: (number: number) => void;
  /** The page of what has an id. */
  readonly pathOf: (id: string) => string;
  /** Beside it. */
  readonly children?: ReactNode;
}

/** Goes to a place by its number, or to what has an id. */
export function Jump({ label, onNumber, pathOf, children }: JumpProps): ReactNode {
  const form = useForm({ initialValues: { wanted: '' }, transformValues: ({ wanted }) => wanted.trim() });
  const navigate = useNavigate();
  const go = (wanted: string): void => {
    if (/^\d{1,15}$/.test(wanted)) onNumber(Number(wanted));
    else if (wanted !== '') void navigate(pathOf(wanted));
  };
  return (
    <form onSubmit={form.onSubmit(go)}>
      <Group gap="xs" align="flex-end">
        <TextInput label={label} size="xs" {...form.getInputProps('wanted')} />
        <Button type="submit" size="xs" variant="default">
          {texts.go}
        </Button>
        {children}
      </Group>
    </form>
  );
}
