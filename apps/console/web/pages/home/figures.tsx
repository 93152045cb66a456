import type { ReactNode } from 'react';
import { Paper, SimpleGrid, Text, UnstyledButton } from '@mantine/core';
import { Link } from 'react-router';
import { totalInWords, type Total } from '../../shell/total.ts';
import type { Tone } from './bars.tsx';

interface FiguresProps {
  readonly figures: readonly {
    readonly label: string;
    readonly value: Total | undefined;
    readonly to: string;
    readonly tone?: Tone;
  }[];
}

/** Numbers that lead to the list that they count. */
export const Figures = ({ figures }: FiguresProps): ReactNode => (
  <SimpleGrid cols={{ base: 2, sm: 3, lg: Math.max(3, Math.min(6, figures.length)) }} spacing="sm">
    {figures.map(({ label, value, to, tone = 'plain' }) => (
      <Paper key={label} p="sm">
        <UnstyledButton component={Link} to={to} w="100%">
          <Text size="sm" c="dimmed">
            {label}
          </Text>
          <Text fw={700} fz={24} {...(value !== undefined && value !== 0 && tone !== 'plain' && { c: colorOf(tone) })}>
            {value === undefined ? '–' : totalInWords(value)}
          </Text>
        </UnstyledButton>
      </Paper>
    ))}
  </SimpleGrid>
);

const colorOf = (tone: Tone): string => `var(--console-${tone === 'plain' ? 'good' : tone})`;
