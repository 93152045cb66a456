import { useId, useState, type KeyboardEvent, type ReactNode } from 'react';
import { Modal, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueries } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from 'react-router';
import { formatNumber } from '../../shell/formats.ts';
import { Icon } from '../../shell/icons.tsx';
import type { Mine } from '../../shell/mine.ts';
import { quoted } from '../../shell/quoted.ts';
import { SHOWN, sourcesOf, type FindSource, type Hit, type Reach } from './find-sources.ts';
import * as texts from './texts.ts';
import classes from './find.module.css';
import { withoutSecrets } from './without-secrets.ts';

/** The organisation and the environment of the page, else the person's first one, and live. */
function useReach(mine: Mine): Reach {
  const { pathname } = useLocation();
  const [, part, place] = pathname.split('/');
  const theirs = mine.person?.isPartner === false ? mine.person.organizations : [];
  const named = part === 'risks' ? theirs.find(({ id }) => encodeURIComponent(id) === place) : undefined;
  const { id, member } = named ?? theirs[0] ?? {};
  const environment = part === 'cases' && /^[a-z][a-z0-9-]{0,30}$/.test(place ?? '') ? place! : 'live';
  const organization = id === undefined || member == null ? undefined : { id, permissions: member.permissions };
  return { mine, organization, environment };
}

const SEARCHED_AFTER_MS = 200;
const MAX_WORDS = 100;

interface Found {
  readonly groups: readonly { readonly group: string; readonly hits: readonly Hit[] }[];
  readonly isSearching: boolean;
}

/**
 * Asks every list at once. An answer belongs to the words it was asked for, so an answer to earlier words is never
 * shown; what refuses or is down has no hits.
 */
function useFound(reach: Reach, typed: string): Found {
  const [settled] = useDebouncedValue(typed.trim(), SEARCHED_AFTER_MS);
  const words = typed.trim() === '' ? '' : settled;
  const sources = sourcesOf(reach).filter(({ takes }) => words !== '' && takes(words));
  const asked = useQueries({
    queries: sources.map(({ group, ask }) => ({
      queryKey: ['find', group, reach.organization?.id, reach.environment, words],
      queryFn: ({ signal }: { signal: AbortSignal }) => ask(words, signal),
      retry: false,
      staleTime: 10_000,
      gcTime: 30_000,
    })),
  });
  const groups = sources.map((source, at) => ({
    group: source.group,
    hits: shownOf(source, asked[at]?.data ?? [], words),
  }));
  return {
    groups: groups.filter(({ hits }) => hits.length > 0),
    isSearching: words !== typed.trim() || asked.some(({ isPending }) => isPending),
  };
}

/** The first hits, and after them a way to all where there are more and a list has them. */
function shownOf({ group, all }: FindSource, hits: readonly Hit[], words: string): readonly Hit[] {
  const shown = hits.slice(0, SHOWN);
  if (hits.length <= SHOWN || all === undefined) return shown;
  return [...shown, { id: '', title: texts.showAllWith(group, quoted(words)), to: all(words) }];
}

interface FindProps {
  readonly mine: Mine;
  readonly inputId: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** One search over everything that is theirs, by keyboard alone: type, arrows, Enter. */
export const FindDialog = ({ opened, ...props }: FindProps & { readonly opened: boolean }): ReactNode => (
  <Modal
    opened={opened}
    onClose={props.onClose}
    title={texts.searchEverything}
    size="lg"
    yOffset="8vh"
    centered={false}
    closeButtonProps={{ 'aria-label': texts.close }}
  >
    <Find {...props} />
  </Modal>
);

function Find({ mine, inputId, text, onText, onClose }: FindProps): ReactNode {
  const reach = useReach(mine);
  const found = useFound(reach, withoutSecrets(text));
  const navigate = useNavigate();
  const hits = found.groups.flatMap((each) => each.hits.map((hit) => keyOf(each.group, hit)));
  const [chosen, setChosen] = useState<string>();
  const current = chosen !== undefined && hits.includes(chosen) ? chosen : hits[0];
  const listId = useId();
  const open = (key: string | undefined): void => {
    const hit = found.groups.flatMap((each) => each.hits.filter((one) => keyOf(each.group, one) === key))[0];
    if (hit === undefined) return;
    onClose();
    void navigate(hit.to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && hits.length > 0) {
      event.preventDefault();
      const next = hits[(hits.indexOf(current ?? '') + step + hits.length) % hits.length];
      setChosen(next);
      document.getElementById(optionId(listId, next ?? ''))?.scrollIntoView({ block: 'nearest' });
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      open(current);
    }
  };
  return (
    <>
      <TextInput
        data-autofocus
        id={inputId}
        aria-label={texts.searchEverything}
        placeholder={texts.searchEverythingPlaceholder}
        maxLength={MAX_WORDS}
        value={text}
        leftSection={<Icon name="search" size={16} />}
        role="combobox"
        aria-expanded={hits.length > 0}
        aria-autocomplete="list"
        {...(hits.length > 0 && { 'aria-controls': listId })}
        {...(current !== undefined && { 'aria-activedescendant': optionId(listId, current) })}
        // Letters typed before are in it already.
        onFocus={({ currentTarget }) => currentTarget.setSelectionRange(MAX_WORDS, MAX_WORDS)}
        onChange={({ currentTarget }) => {
          onText(currentTarget.value);
          setChosen(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      <Text size="sm" c="dimmed" role="status" py="xs">
        {saying(text, found)}
      </Text>
      {hits.length > 0 && <HitList id={listId} found={found} current={current} onClose={onClose} />}
    </>
  );
}

const keyOf = (group: string, { id }: Hit): string => `${group} ${id}`;
const optionId = (listId: string, key: string): string => `${listId}-${encodeURIComponent(key)}`;

function saying(text: string, { isSearching, groups }: Found): string {
  if (text.trim() === '') return texts.keysHint;
  if (isSearching) return texts.searching;
  const count = groups.flatMap(({ hits }) => hits).filter(({ id }) => id !== '').length;
  return count === 0 ? texts.nothingFoundAmongWhatYouMaySee : texts.foundCount(formatNumber(count));
}

const HitList = ({
  id,
  found,
  current,
  onClose,
}: {
  readonly id: string;
  readonly found: Found;
  readonly current: string | undefined;
  readonly onClose: () => void;
}): ReactNode => (
  <div role="listbox" id={id} aria-label={texts.found} className={classes['list']}>
    {found.groups.map(({ group, hits }) => (
      <div key={group} role="group" aria-label={group}>
        <div className={classes['group']} aria-hidden="true">
          {group}
        </div>
        {hits.map((hit) => {
          const key = keyOf(group, hit);
          return (
            <Link
              key={key}
              id={optionId(id, key)}
              role="option"
              aria-selected={key === current}
              tabIndex={-1}
              to={hit.to}
              className={classes['hit'] ?? ''}
              onClick={onClose}
            >
              <span className="wrap">{hit.title}</span>
              {hit.detail !== undefined && <span className={`wrap ${classes['detail'] ?? ''}`}>{hit.detail}</span>}
            </Link>
          );
        })}
      </div>
    ))}
  </div>
);
