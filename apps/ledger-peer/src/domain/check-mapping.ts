import { enumOf, named, orNull } from '@sealgate/schemas';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { Type, type Static } from '@sinclair/typebox';
import { ContractRefusal, UnreadableAnswerError, type AssetLedger } from './asset-ledger.ts';
import { historyOf, type Mappings, type Target } from './mapping.ts';
import { MappingError, parseMappings, type MappingRules } from './parse-mappings.ts';

const CheckedCall = named(
  'CheckedCall',
  Type.Object({
    types: Type.Array(Type.String(), {
      description: 'The types, prefixes or `*` of the mappings whose call it is.',
    }),
    channel: Type.String(),
    chaincode: Type.String(),
    call: enumOf('CheckedCallKind', ['read', 'query', 'history']),
    transaction: Type.String(),
    ok: Type.Boolean(),
    answer: enumOf('CheckedCallAnswer', ['answered', 'absent', 'refused', 'unreadable', 'unavailable', 'not_asked'], {
      description:
        '`answered`, `absent`: as the mapping describes it. `refused`: in words that the mapping does not list. `unreadable`: not as it describes it. `unavailable`: it could not be asked. `not_asked`: the time was over.',
    }),
    detail: orNull(Type.String(), { description: 'The words of the contract or of the network.' }),
  }),
);
type CheckedCall = Static<typeof CheckedCall>;

/** What a mapping file says, tried on the network. */
export const MappingReport = named(
  'MappingReport',
  Type.Object({
    ok: Type.Boolean(),
    faults: Type.Array(Type.String(), { description: 'Of the file; nothing is asked if there are any.' }),
    calls: Type.Array(CheckedCall, { description: 'One for each read, query and history of a contract.' }),
  }),
);
export type MappingReport = Static<typeof MappingReport>;

export interface CheckMappingPorts {
  readonly ledger: Pick<AssetLedger, 'read' | 'query' | 'history'>;
  readonly rules: MappingRules;
  readonly now: () => number;
}

/** An id that no contract has. */
const NOBODY = 'sealgate-check';
const AT_ONCE = 8;
const ASK_WITHIN_MS = 15_000;

/** Parses a mapping file and evaluates each read, query and history of it. Endorses nothing, so nothing can be written. */
export async function checkMapping(ports: CheckMappingPorts, text: string): Promise<MappingReport> {
  let mappings: Mappings;
  try {
    mappings = parseMappings(text, ports.rules);
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    return { ok: false, faults: [...error.faults], calls: [] };
  }
  const endAtMs = ports.now() + ASK_WITHIN_MS;
  const wanted = mappings.targets.flatMap((target) => callsOf(target, mappings.typesOf(target)));
  const calls: CheckedCall[] = [];
  const rest = wanted.entries();
  const work = async () => {
    for (const [at, one] of rest) calls[at] = ports.now() < endAtMs ? await check(ports.ledger, one) : notAsked(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { ok: calls.every(({ ok }) => ok), faults: [], calls };
}

interface Wanted {
  readonly types: string[];
  readonly target: Target;
  readonly call: CheckedCall['call'];
  readonly transaction: string;
}

function callsOf(target: Target, types: string[]): Wanted[] {
  const { read, query } = target.transactions;
  const history = historyOf(target)?.transaction;
  const transactions = Object.entries({ read, query, history }) as [CheckedCall['call'], string | undefined][];
  return transactions.flatMap(([call, transaction]) =>
    transaction === undefined ? [] : [{ types, target, call, transaction }],
  );
}

const shown = ({ types, target: { channel, chaincode }, call, transaction }: Wanted) => ({
  ...{ types, channel, chaincode, call, transaction },
});

const notAsked = (wanted: Wanted): CheckedCall => ({ ...shown(wanted), ok: false, answer: 'not_asked', detail: null });

async function check(ledger: CheckMappingPorts['ledger'], wanted: Wanted): Promise<CheckedCall> {
  try {
    const isAbsent = await ask(ledger, wanted);
    return { ...shown(wanted), ok: true, answer: isAbsent ? 'absent' : 'answered', detail: null };
  } catch (error) {
    return { ...shown(wanted), ok: false, ...failureOf(error) };
  }
}

/** Whether a read finds nothing; a page or list, empty or not, is an answer. */
async function ask(ledger: CheckMappingPorts['ledger'], { target, call }: Wanted): Promise<boolean> {
  if (call === 'read') return (await ledger.read(target, NOBODY)) === undefined;
  if (call === 'history') return (await ledger.history?.(target, NOBODY)) === undefined;
  const filters = target.shape.kind === 'positional' ? target.shape.filters : [];
  const filter = Object.fromEntries(filters.map((name) => [name, '']));
  await ledger.query(target, { type: NOBODY, limit: 1, after: undefined, filter });
  return false;
}

function failureOf(error: unknown): Pick<CheckedCall, 'answer' | 'detail'> {
  if (error instanceof ContractRefusal) return { answer: 'refused', detail: error.contractMessage };
  if (error instanceof UnreadableAnswerError) return { answer: 'unreadable', detail: error.message };
  if (!(error instanceof LedgerUnavailableError)) throw error;
  return { answer: 'unavailable', detail: error.cause instanceof Error ? error.cause.message : error.message };
}
