import { useEffect, type ReactNode } from 'react';
import { Anchor, Breadcrumbs, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from 'react-router';

interface PageProps {
  readonly title: string;
  /** One sentence about the page. */
  readonly intro?: ReactNode;
  /** The breadcrumbs, outermost first. */
  readonly above?: readonly { readonly title: string; readonly to: string }[];
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of every page: sets the document title and shows the breadcrumbs. */
export function Page({ title, intro, above = [], actions, children }: PageProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Sealgate`;
  }, [title]);
  return (
    <Stack gap="lg" maw={1280} w="100%">
      <Group justify="space-between" align="flex-start" gap="md">
        <Stack gap={4} miw={0} flex="1 1 18rem">
          {above.length > 0 && (
            <Breadcrumbs separatorMargin={6} fz="sm" style={{ rowGap: 12 }}>
              {above.map((page) => (
                <Anchor key={page.to} component={Link} to={page.to} size="sm">
                  {page.title}
                </Anchor>
              ))}
            </Breadcrumbs>
          )}
          <Title order={1} className="wrap">
            {title}
          </Title>
          {intro !== undefined && (
            <Text c="dimmed" size="sm" maw={760} component="div">
              {intro}
            </Text>
          )}
        </Stack>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

/** A label with its value. */
export const Fact = ({ label, children }: { label: string; children: ReactNode }): ReactNode => (
  <Stack gap={2} miw={0}>
    <Text size="xs" c="dimmed">
      {label}
    </Text>
    <Text size="sm" className="wrap" component="div">
      {children}
    </Text>
  </Stack>
);

/** A section heading. */
export const Section = ({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode => (
  <Stack gap="sm" component="section" aria-label={title}>
    <Title order={2}>{title}</Title>
    {children}
  </Stack>
);
