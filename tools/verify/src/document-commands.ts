import { parseInstant } from '@sealgate/json';
import type { Command } from 'commander';
import { checkDecisions } from './check-decisions.ts';
import { checkDelivery, senderKey, type SenderKey } from './check-delivery.ts';
import { checkPack } from './check-pack.ts';
import { checkSealsByPeers } from './fabric-checks.ts';
import { neededTrust, TRUST_OPTION } from './fabric-command.ts';
import { readKeySet } from './given-keys.ts';
import { readPackFile } from './pack-file.ts';
import { pathIn, readBytes, readJson, readText } from './read-file.ts';
import {
  type CommandHost,
  type CommonOptions,
  runCheck,
  runKeyedCheck,
  runMaybeKeyedCheck,
  withKeyOptions,
} from './run-check.ts';
import { UnreadableError } from './shape.ts';

const PACK_HELP = `
FILE is the assessor pack of a case, as JSON. Two keys are pinned: --jwks has the keys that sign packs (save
/.well-known/jwks.json once, from a source you trust), --key is the key of the log of its seals. Without --jwks changes can
be detected, but the pack is not verified. For seals on Fabric, --trust has the pinned organisations of the channel.

  sealgate-verify pack pack.json --jwks packs.jwks.json --key log.vkey
  sealgate-verify pack pack.json --jwks packs.jwks.json --trust channel.json`;

/** Adds `pack`. */
export function addPackCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('pack'))
    .description('check the signature of an assessor pack, and its seals in the log or on Fabric')
    .argument('<file>', 'the pack, as JSON')
    .option('--jwks <file>', 'the pinned keys that sign packs')
    .option(...TRUST_OPTION)
    .addHelpText('after', PACK_HELP)
    .action(async (path: string, options: CommonOptions & { jwks?: string; trust?: string }) => {
      await runMaybeKeyedCheck(host, { name: 'pack', options }, async (pinned) => {
        const { name, value } = await readJson(pathIn(host.directory, path));
        const file = readPackFile(name, value);
        const set = options.jwks === undefined ? undefined : await readJson(pathIn(host.directory, options.jwks));
        const peers = file.seals.find((seal) => seal.peers !== undefined)?.peers;
        const byPeers = peers && (await checkSealsByPeers(file, await neededTrust(host, options.trust, peers)));
        const needsKey = peers === undefined || file.seals.some(({ record }) => record !== undefined);
        const verifier = needsKey ? (await pinned()).verifier : undefined;
        return checkPack({ file, verifier, byPeers, jwks: set && readKeySet(set.name, set.value) });
      });
    });
}

const DELIVERY_HELP = `
FILE is the record from the admin API (npx sealgate ledger record), or its receipt and proof. --body has exactly the bytes of
the delivery. The key is the sender's public key, whpk_ and base64, from a source you trust. Only public-key signatures
(Standard Webhooks v1a) can be checked; the receipt proves that the record is in the ledger.

  sealgate-verify delivery record.json --body delivery.bin --sender-key whpk_...`;

/** Adds `delivery`. */
export function addDeliveryCommand(program: Command, host: CommandHost): void {
  program
    .command('delivery')
    .description('check that the sender of a webhook signed the delivery of a record')
    .argument('<file>', 'the record, or its receipt and proof, as JSON')
    .option('--body <file>', 'the raw delivery')
    .option('--sender-key <whpk>', 'a pinned public key of the sender, or a file that holds one; repeatable', collect)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', DELIVERY_HELP)
    .action(
      async (
        path: string,
        options: {
          readonly body?: string;
          readonly senderKey?: readonly string[];
          readonly json?: boolean;
        },
      ) => {
        await runCheck(host, { name: 'delivery', options }, async () => {
          const { body, senderKey: given = [] } = options;
          if (body === undefined) throw new UnreadableError('Give the raw delivery with --body.');
          if (given.length === 0) throw new UnreadableError('Give a public key of the sender with --sender-key.');
          const keys = await Promise.all(given.map((text) => readKey(host, text)));
          const { name, value } = await readJson(pathIn(host.directory, path));
          return checkDelivery({ name, value, body: await readBytes(pathIn(host.directory, body)), keys });
        });
      },
    );
}

const collect = (key: string, before: readonly string[] = []): string[] => [...before, key];

async function readKey(host: CommandHost, given: string): Promise<SenderKey> {
  const text = given.startsWith('whpk_') ? given : (await readText(pathIn(host.directory, given))).trim();
  const key = senderKey(text);
  if (key === undefined) throw new UnreadableError('A public key of a sender is whpk_ and 32 bytes in base64.');
  return key;
}

const DECISIONS_HELP = `
DECISIONS is the decision log by process and number, HEADS are the heads of its chains with their proofs, one per line. Save
the heads first. Every decision covered by a head must be present once and unchanged. Decisions after the last head of a
process are at most a minute old, or the process crashed: they are reported as a note. Decisions removed by the retention are
missing: --from excludes decisions covered by heads before that time.

A head missing in HEADS hides the decisions it covers, and HEADS alone does not reveal it if it is the last one of a process,
or if all heads of a process are missing. --log DIR is a copy of the channel's log (checkpoint and entry bundles): every entry
of type gate.decisions in it must be among the heads, and every head among the entries. Copy the log before you save the
heads.

  sealgate ledger export https://peer.example/ledger/gate.seals copy/ --key log.vkey
  sealgate decisions heads > heads.ndjson && sealgate decisions log > decisions.ndjson
  sealgate-verify decisions decisions.ndjson heads.ndjson --key log.vkey --channel gate.seals --log copy/`;

interface DecisionOptions {
  readonly channel?: string;
  readonly from?: string;
  readonly log?: string;
}

/** Adds `decisions`. */
export function addDecisionsCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('decisions'))
    .description('check that a decision log is complete and unchanged, against its heads in the ledger')
    .argument('<decisions>', 'the decision log as NDJSON')
    .argument('<heads>', 'the heads of its chains as NDJSON, each with its proof')
    .option('--channel <channel>', 'the required channel of the heads: <network>.<name>')
    .option('--log <dir>', 'a copy of the log of that channel: reports withheld heads')
    .option('--from <time>', 'exclude heads from before this RFC 3339 time')
    .addHelpText('after', DECISIONS_HELP)
    .action(async (decisions: string, heads: string, options: CommonOptions & DecisionOptions) => {
      await runKeyedCheck(host, { name: 'decisions', options }, ({ verifier }) => {
        const { channel, from, log } = options;
        const fromMs = from === undefined ? undefined : parseInstant(from);
        if (from !== undefined && fromMs === undefined) throw new UnreadableError('--from takes an RFC 3339 time.');
        const at = (path: string) => pathIn(host.directory, path);
        return checkDecisions({
          decisions: at(decisions),
          heads: at(heads),
          verifier,
          channel,
          ...(fromMs === undefined ? {} : { from: new Date(fromMs).toISOString() }),
          ...(log === undefined ? {} : { log: at(log) }),
        });
      });
    });
}
