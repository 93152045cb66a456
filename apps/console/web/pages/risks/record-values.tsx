import type { ReactNode } from 'react';
import { Group, Text } from '@mantine/core';
import { CodeText, CopyButton } from '../../shell/code-text.tsx';
import { StateBadge, type Tone } from '../../shell/state-badge.tsx';
import { Time } from '../../shell/time.tsx';
import { usePersonName } from './organization.tsx';
import { KIND_OF_IDS } from './record-kinds.ts';
import { RecordNames } from './record-names.tsx';
import type { Field } from './record-schemas.ts';
import type { RiskSchemas } from './risk-api.ts';
import * as texts from './texts.ts';
import classes from './risks.module.css';
import { inWords, levelOf } from './words.ts';

const TONES: Readonly<Record<string, Tone>> = {
  approved: 'good',
  implemented: 'good',
  active: 'good',
  passed: 'good',
  covered: 'good',
  closed: 'good',
  rejected: 'bad',
  expired: 'bad',
  failed: 'bad',
  gap: 'bad',
  revoked: 'bad',
  in_review: 'wait',
  expiring: 'wait',
  requested: 'wait',
  partial: 'wait',
  inconclusive: 'wait',
  in_treatment: 'wait',
};

/** The colour of each status value. */
const toneOf = (value: string): Tone => TONES[value] ?? 'plain';

/** A status as word, shape and colour. */
export const Status = ({ value }: { readonly value: string }): ReactNode => (
  <StateBadge tone={toneOf(value)}>{inWords(value)}</StateBadge>
);

/** A score with its level, as word and colour. */
export const Score = ({ score }: { readonly score: number }): ReactNode => (
  <span className={classes['score']} data-level={levelOf(score)}>
    {score} <span>{inWords(levelOf(score))}</span>
  </span>
);

type Scored = Pick<RiskSchemas['Rating'], 'score'>;

/** The score that a risk had, if it was told, and the one in its place. */
export const ScoreMove = ({ from, to }: { readonly from: Scored | undefined; readonly to: Scored }): ReactNode => (
  <Group gap={6} wrap="nowrap" component="span" display="inline-flex">
    {from && (
      <>
        <Score score={from.score} />
        <span role="img" aria-label={texts.then}>
          →
        </span>
      </>
    )}
    <Score score={to.score} />
  </Group>
);

function Linked({ name, ids }: { readonly name: string; readonly ids: readonly string[] }): ReactNode {
  const kind = KIND_OF_IDS[name];
  return kind === undefined ? ids.join(', ') : <RecordNames kind={kind} ids={ids} />;
}

const NONE = (
  <Text component="span" c="dimmed" size="sm">
    {texts.none}
  </Text>
);

/** Formatters by kind of value; other kinds are text. */
const READ: Readonly<Partial<Record<Field['kind'], (value: unknown, name: string) => ReactNode>>> = {
  choice: (value) => <Status value={String(value)} />,
  flag: (value) => (value === true ? texts.yes : texts.no),
  time: (value) => <Time value={String(value)} />,
  ids: (value, name) => <Linked name={name} ids={value as string[]} />,
  requirements: (value) =>
    (value as RiskSchemas['RequirementRef'][])
      .map(({ frameworkId, requirementId }) => `${requirementId} (${frameworkId})`)
      .join(', '),
  rating(value) {
    const { likelihood, impact } = value as RiskSchemas['Estimate'];
    return (
      <Group gap={8}>
        <Score score={likelihood * impact} />
        <Text size="sm" c="dimmed" component="span">
          {texts.likelihoodAndImpactOf(likelihood, impact)}
        </Text>
      </Group>
    );
  },
  period(value) {
    const { from, to } = value as RiskSchemas['Period'];
    return texts.fromTo(from && <Time value={from} />, to && <Time value={to} />);
  },
};

const asText = (text: string): ReactNode =>
  /^[0-9a-f]{64}$/.test(text) ? (
    <CodeText value={text} label={texts.copyTheHash} short={16} />
  ) : (
    <span className={`wrap ${classes['typed'] ?? ''}`}>{text}</span>
  );

/** Members with the id of a person. */
const PEOPLE: ReadonlySet<string> = new Set(['ownerId', 'collectedBy', 'reviewedBy']);

function PersonName({ id }: { readonly id: string }): ReactNode {
  const name = usePersonName()(id);
  return (
    <Group gap={4} component="span" display="inline-flex">
      <span className="wrap" title={id}>
        {name}
      </span>
      <CopyButton value={id} label={texts.copyTheIdOf(name)} />
    </Group>
  );
}

const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

/** The formatted value of a member, also in the comparison of two versions. */
export function Value({
  field,
  value,
}: {
  readonly field: Pick<Field, 'name' | 'kind'>;
  readonly value: unknown;
}): ReactNode {
  if (isNothing(value)) return NONE;
  if (PEOPLE.has(field.name)) return <PersonName id={String(value)} />;
  return READ[field.kind]?.(value, field.name) ?? asText(String(value));
}
