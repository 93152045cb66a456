import * as texts from './texts.ts';

/** The display name of a value of the risk partner: `in_treatment` is In treatment. */
export const inWords = (value: string): string =>
  texts.valueNames[value] ?? `${value.slice(0, 1).toUpperCase()}${value.slice(1).replaceAll('_', ' ')}`;

/** The levels of a score, worst last, for cell colours. */
export const levelOf = (score: number): 'low' | 'medium' | 'high' | 'critical' =>
  score >= 17 ? 'critical' : score >= 10 ? 'high' : score >= 5 ? 'medium' : 'low';
