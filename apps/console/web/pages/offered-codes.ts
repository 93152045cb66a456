import { quoted } from '../shell/quoted.ts';
import * as texts from './texts.ts';

/** A code with what it is called. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** The choices, what is chosen already, and what is typed and none of them: lists are longer than what is known here. */
export function offered(choices: readonly Choice[], value: string | undefined, typed: string): Choice[] {
  const isKnown = (code: string): boolean => choices.some((one) => one.value === code || one.label === code);
  const chosen = value === undefined || isKnown(value) ? [] : [{ value, label: value }];
  const words = typed.trim();
  const isNew = words !== '' && words !== value && !isKnown(words);
  return [...choices, ...chosen, ...(isNew ? [{ value: words, label: texts.asTyped(quoted(words)) }] : [])];
}
