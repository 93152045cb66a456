import type { Verdict } from '../report.ts';
import type { Trial } from '../run-mcp-check.ts';
import type { NpxRun } from '../run-npx.ts';
import { memberOf, type InspectorAnswer, type InspectorCase } from './inspector-case.ts';
import { inspectorCases } from './inspector-cases.ts';
import { restFacts } from './rest-facts.ts';

/** Makes every call with the inspector's command line, one process each, the key in the header as its users give it. */
export async function tryInspector({ target, run }: Trial): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const one of inspectorCases(await restFacts(target))) {
    const authorization = one.authorization ?? `Bearer ${target.key}`;
    const address = ['--cli', '--server-url', `${target.url}/mcp`, '--transport', 'http', '--format', 'json'];
    const answer = answerOf(await run([...address, '--header', `Authorization: ${authorization}`, ...one.parameters]));
    verdicts.push({ name: one.name, shows: one.shows, difference: differenceOf(answer, one) });
  }
  return verdicts;
}

export function differenceOf(answer: InspectorAnswer, { exitCode, fault }: InspectorCase): string | undefined {
  if (answer.exitCode === exitCode) return fault(answer);
  return `Expected the exit code ${exitCode}, found ${answer.exitCode}: ${JSON.stringify(answer.error ?? answer.result)?.slice(0, 500)}`;
}

/** The result is the whole of stdout; an error is one JSON object in a line of stderr, among warnings perhaps. */
export function answerOf({ exitCode, out, err }: NpxRun): InspectorAnswer {
  const errors = err.split('\n').map((line) => memberOf(jsonOf(line), 'error'));
  const error = errors.findLast((found) => found !== undefined) as InspectorAnswer['error'];
  return { exitCode, result: memberOf(jsonOf(out), 'result'), error };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
