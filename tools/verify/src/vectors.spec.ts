import { describe, expect, it } from '@jest/globals';
import { runCli } from './cli.ts';
import { directoryOf } from './testing/sample-log.ts';
import { vectors, type Vector } from './testing/vectors.ts';

/** A command line with the pinned keys as options. */
function parametersOf({ command, pins }: Vector): string[] {
  const { logKeys, policy, jwks, signature, senderKeys } = pins;
  return [
    ...command,
    ...(logKeys === undefined ? [] : ['--key', logKeys]),
    ...(policy === undefined ? [] : ['--policy', 'pinned.policy']),
    ...(jwks === undefined || (command[0] === 'envelope' && signature === undefined) ? [] : ['--jwks', 'pinned.json']),
    ...(signature === undefined ? [] : ['--signature', signature]),
    ...(senderKeys === undefined ? [] : ['--sender-key', senderKeys]),
  ];
}

describe('the command line', () => {
  it.each(vectors.map((vector) => [vector.title, vector] as const))('checks %s', async (_title, vector) => {
    const files = { ...vector.files, 'pinned.json': vector.pins.jwks ?? '', 'pinned.policy': vector.pins.policy ?? '' };
    const directory = await directoryOf(new Map(Object.entries(files)));
    let said = '';
    const say = (text: string): void => void (said += text);
    const code = await runCli([...parametersOf(vector), '--json'], { out: say, err: say, directory });
    const { steps } = JSON.parse(said) as { steps?: { step: string; status: string }[] };
    const failed = new Set(steps?.filter(({ status }) => status === 'failed').map(({ step }) => step));
    expect({ code, failed: [...failed] }).toEqual({ code: vector.failed.length === 0 ? 0 : 1, failed: vector.failed });
  });
});
