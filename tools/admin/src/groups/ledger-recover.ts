import { EXIT_CODES } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import type { Row } from '../row-command.ts';
import { rowFields } from '../row-table.ts';

/** Polling interval until the channel continues, which takes some seconds. */
const PAUSE_MS = 1000;
/** After this time the integrator is not running, or logs why it does not sign. */
const MOST_LOOKS = 120;

export const recover: Row = {
  operation: 'getLoss',
  summary: 'Declare the lost records of a halted channel, so that it continues in its next epoch',
  details:
    "First look for a database with the records: after the declaration the old log is never signed again. The command prints what is lost, asks for the name of the channel, and waits until the channel accepts records. After Ctrl-C, run it again to wait. Use a process whose DATABASE_URL has the integrator's role.",
  examples: ["sealgate ledger recover acme.main --reason 'Dump of Monday, no newer one'"],
  options: {
    '--reason <text>': { words: 'the public reason', sets: null, required: true },
    '--yes': { words: 'do not ask for confirmation', sets: null },
  },
  run: async (session, request, [channel = ''], { reason }) => {
    let answer = await session.api.json(request);
    if (answer.value['status'] === 'lost') {
      session.note(lossText(answer.value));
      await session.confirm(`After the declaration, these records cannot be restored into ${channel}.`, channel);
      const body = { reason: String(reason), checkpoint: newestCheckpoint(answer.value) };
      answer = await session.api.json({ method: 'POST', path: `${request.path}/declare`, body });
    }
    if (answer.value['status'] === 'declared') session.note('Declared. Waiting until the new epoch is signed.\n');
    for (let looks = 0; answer.value['status'] === 'declared' && looks < MOST_LOOKS; looks += 1) {
      await session.pause(PAUSE_MS);
      answer = await session.api.json(request);
    }
    if (answer.value['status'] === 'lost' || answer.value['status'] === 'declared') {
      session.note(`sealgate: ${channel} does not continue: check that an integrator is running, and its log.\n`);
      return EXIT_CODES.refused;
    }
    session.show(answer, stateText);
    return EXIT_CODES.done;
  },
};

const lostOf = ({ lost }: JsonObject): JsonObject[] => (Array.isArray(lost) ? lost.filter(isObject) : []);

const newestCheckpoint = (loss: JsonObject): string => String(lostOf(loss).at(-1)?.['checkpoint']);

function lossText(loss: JsonObject): string {
  const rows = lostOf(loss).map(({ epoch, lostFrom, lostUntil }) => {
    const log = epoch === 0 ? 'the log' : `epoch ${String(epoch)}`;
    if (lostFrom === lostUntil) return `  ${log}: nothing; it ends with ${String(lostUntil)} entries\n`;
    return `  ${log}: indexes ${String(lostFrom)} to ${Number(lostUntil) - 1}, ${Number(lostUntil) - Number(lostFrom)} in all\n`;
  });
  const since = loss['sharedAt'] === null ? 'from the first record on' : `written after ${String(loss['sharedAt'])}`;
  return `Lost, found at ${String(loss['foundAt'])}, ${since}:\n${rows.join('')}`;
}

function stateText(loss: JsonObject): string {
  const { declaration, ...state } = loss;
  const said = isObject(declaration) ? `\nThe newest declared loss:\n\n${rowFields(declaration)}` : '';
  return `The channel is complete, or continues after the declaration.\n\n${rowFields({ channel: state['channel'] ?? null, epoch: state['epoch'] ?? null })}${said}`;
}
