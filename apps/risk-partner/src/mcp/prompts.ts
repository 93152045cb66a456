/** A prompt for reviewers: which tools to use, and what to look for. */
export interface ReviewPrompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  text(args: Readonly<Record<string, string>>): string;
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 200));

export const REVIEW_PROMPTS: readonly ReviewPrompt[] = [
  {
    name: 'summarise_coverage_gaps',
    title: 'Summarise coverage gaps',
    description: 'Which requirements are not met, and what is missing',
    arguments: [
      {
        name: 'framework',
        description: 'The id of one framework, as list_frameworks gives it; absent: all of them.',
        required: false,
      },
    ],
    text: ({ framework }) =>
      [
        `Summarise the coverage gaps ${framework === undefined ? 'of every framework' : `of the framework with the id ${quoted(framework)}`}.`,
        'Read every page of get_coverage with state "gap", then with state "partial"; keep to one snapshotId throughout and name it.',
        'For each requirement say which controls it has (list_controls), which of them lack approved evidence, and how old the freshest evidence is.',
        'Separate what the data shows from what you conclude. You see metadata only: say nothing about what documents contain.',
      ].join('\n'),
  },
  {
    name: 'review_evidence',
    title: 'Review one item of evidence',
    description: 'Whether one item of evidence holds up',
    arguments: [
      { name: 'evidenceId', description: 'The id of the evidence, as list_evidence gives it.', required: true },
    ],
    text: ({ evidenceId = '' }) =>
      [
        `Review the evidence with the id ${quoted(evidenceId)}.`,
        'Read it with get_evidence. Look at its state, its expiry, the age of what it documents, and the controls it supports (list_controls).',
        'If it has a ledgerRecordId, look for its proof among list_proofs and compare sha256 with that of the evidence.',
        'End with a verdict (holds up, holds up with reservations, does not hold up) and the facts it is based on. You see metadata only: the document itself is not here.',
      ].join('\n'),
  },
];
