import type { ReactNode } from 'react';
import { CopyButton } from '../shell/code-text.tsx';
import { actorInWords, type Names } from './actor-in-words.ts';
import * as texts from './texts.ts';
import classes from './actor.module.css';

interface ActorProps {
  /** As a timeline or an audit has it. */
  readonly actor: string;
  readonly names?: Names;
}

/** Who did something: a person, a key or a token by name, with the id behind a copy button. */
export function Actor({ actor, names }: ActorProps): ReactNode {
  const words = actorInWords(actor, names);
  if (words === actor) return <span className="wrap">{actor}</span>;
  return (
    <span className={classes['actor']}>
      <span className="wrap" title={actor}>
        {words}
      </span>
      <CopyButton value={actor} label={texts.copyTheIdOf(words)} />
    </span>
  );
}
