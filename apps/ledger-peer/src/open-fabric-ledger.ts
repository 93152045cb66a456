import { GatewayNotOpenedError, openGateway } from '@sealgate/ledger-fabric';
import { openedOrStartError } from '@sealgate/service-host';
import { fabricAssets, healthOf, probesOf, trustReader } from './data/fabric-assets.ts';
import { fabricBlocks } from './data/fabric-blocks.ts';
import { fabricEvents } from './data/fabric-events.ts';
import { transactionFinder } from './data/fabric-transactions.ts';
import { familiesWithoutKey, signersOf } from './data/signers.ts';
import type { OpenedLedger, OpenLedgerParts } from './open-ledger.ts';
import { SCHEMA } from './peer-migrations.ts';

const SETTLE_WITHIN_MS = 1000;

/** A transaction of a job that is not done, whose group is the id of its job. */
const UNFINISHED = `EXISTS (SELECT FROM peer.jobs j
                             WHERE j.job_id = split_part(t.reference, ':', 1) AND j.done_at IS NULL)`;

/**
 * Opens the gateway of a Fabric network. Loaded only if LEDGER_DRIVER is fabric.
 * @throws StartError for an invalid connection file, or a mapped channel that it does not hold.
 */
export async function openFabricLedger({ ledgerMetrics, ...options }: OpenLedgerParts): Promise<OpenedLedger> {
  const { targets } = options.config.mappings;
  const needs = targets.map(({ channel }) => channel);
  const { client, connection, channels, waiting } = await openedOrStartError(GatewayNotOpenedError, async () =>
    openGateway({ ...options, needs, schema: SCHEMA, inUse: UNFINISHED }),
  );
  const typos = familiesWithoutKey(connection, options.config.apiKeys.families);
  if (typos.length > 0) options.log.warn('callers_without_key', { families: typos.join(', ') });
  const assets = fabricAssets({ client, channels, settleWithinMs: SETTLE_WITHIN_MS });
  const probes = probesOf(channels, options.config.mappings);
  return {
    assets: ledgerMetrics.watch(assets),
    signers: signersOf(connection),
    events: fabricEvents({ client, channels, mappings: options.config.mappings }),
    log: undefined,
    administration: undefined,
    readTrust: trustReader(client, channels),
    blocks: fabricBlocks(client, channels),
    findTransaction: transactionFinder(client, channels),
    async credentials() {
      const { problems, identities, ...state } = client.credentials();
      return {
        ...state,
        problems: [...problems],
        ...(identities === undefined ? {} : { identities: [...identities] }),
      };
    },
    health: () => healthOf(client, probes),
    waiting,
  };
}
