import { Option } from 'commander';
import { apiPath } from '../api-path.ts';
import { yesOption, type CommandSpec } from '../command-spec.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { rowFields } from '../row-fields.ts';

/** How often is asked whether the channel goes on: that takes some seconds. */
const PAUSE_MS = 1000;
/** An integrator that does not sign in that time does not run, or says in its log why not. */
const MOST_LOOKS = 120;

export const recover: CommandSpec<{ readonly reason: string }> = {
  usage: 'recover <channel>',
  summary: 'Declare what a halted channel lost for good, so that it goes on in its next epoch',
  details:
    'First look for a database that has the records: once a loss is declared, the old log is never signed again. The command prints what is lost, has the name of the channel typed, and follows until the channel takes records. Left with Ctrl-C and given again, it follows on. Ask a process whose DATABASE_URL is of a role that may integrate.',
  examples: ["sealgate ledger recover acme.main --reason 'Dump of Monday, no newer one'"],
  options: [new Option('--reason <text>', 'why, for everybody to read').makeOptionMandatory(), yesOption()],
  run: async (session, [channel = ''], { reason }) => {
    const path = apiPath`/ledger/channels/${channel}/loss`;
    let answer = await session.api.json({ method: 'GET', path });
    if (answer.value['status'] === 'lost') {
      session.note(lossText(answer.value));
      await session.confirm(`Once that is declared, nothing brings these records back into ${channel}.`, channel);
      const body = { reason, checkpoint: newestCheckpoint(answer.value) };
      answer = await session.api.json({ method: 'POST', path: `${path}/declare`, body });
    }
    if (answer.value['status'] === 'declared')
      session.note('Declared. The channel waits for its epoch to be signed.\n');
    for (let looks = 0; answer.value['status'] === 'declared' && looks < MOST_LOOKS; looks += 1) {
      await session.pause(PAUSE_MS);
      answer = await session.api.json({ method: 'GET', path });
    }
    if (answer.value['status'] === 'lost' || answer.value['status'] === 'declared') {
      session.note(`sealgate: ${channel} does not go on: does an integrator run, and what does its log say?\n`);
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
  return `The channel is as it was left, or as it was declared.\n\n${rowFields({ channel: state['channel'] ?? null, epoch: state['epoch'] ?? null })}${said}`;
}
