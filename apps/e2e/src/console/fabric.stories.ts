import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { setupTimeoutMs } from '../harness/contract-setup.ts';
import { fabricPeer, type FabricPeer } from '../harness/fabric-peer.ts';
import type { SyncSummary } from '../harness/peer-setup.ts';
import { looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** Fabric's validation code ENDORSEMENT_POLICY_FAILURE. */
const NOT_ENDORSED = 10;

/** The ledger explorer where the ledger peer is on Fabric, which that of the stack is not: another one answers for it. */
export function fabricStories(stack: () => ConsoleStack): void {
  describe('the ledger explorer on Fabric', () => {
    let peer: FabricPeer;
    let written: SyncSummary['transactions'][number];
    beforeAll(async () => {
      peer = await fabricPeer({ mappings: [{ type: 'asset', chaincode: 'records' }] });
      const push = async (ids: readonly string[]) => {
        const assets = ids.map((id) => ({ id, type: 'asset', data: { secret: 'of the asset' } }));
        return (await peer.setup.ask('POST', '/api/assets', { body: { assets } })).body as SyncSummary;
      };
      peer.network.faults.judge({ commit: NOT_ENDORSED });
      await push(['refused']);
      written = (await push(['crate-1', 'crate-2'])).transactions[0]!;
    }, setupTimeoutMs);
    afterAll(() => peer?.stop());

    /** What the pages ask about Fabric is answered by that peer. */
    const onFabric = (page: Page) =>
      page.route('**/admin/ledger-peer/admin/v1/fabric/**', async (route) => {
        const { pathname, search } = new URL(route.request().url());
        const answer = await peer.setup.admin.get(pathname.split('/admin/v1')[1]! + search);
        await route.fulfill({
          status: answer.status,
          contentType: String(answer.headers['content-type']),
          body: answer.text,
        });
      });

    it('leads from channels to blocks and transactions, with who made and endorsed each', async () => {
      await stack().visit('operator', '/home', async (page) => {
        await onFabric(page);
        await page.goto('/ledger');
        const channels = page.getByRole('table', { name: 'Channels' });
        await channels.getByRole('link', { name: 'acme.main' }).waitFor();
        expect(await looksOf(page, stack(), 'fabric-channels')).toEqual([]);
        await channels.getByRole('link', { name: 'acme.main' }).click();
        const blocks = page.getByRole('table', { name: 'Blocks' });
        await blocks.getByText('1 without effect').waitFor();
        expect(await blocks.getByText('Configuration', { exact: true }).count()).toBe(1);
        expect(await looksOf(page, stack(), 'fabric-blocks')).toEqual([]);
        await blocks.getByRole('link', { name: String(written.blockNumber), exact: true }).click();
        await page.getByRole('heading', { level: 1, name: `Block ${written.blockNumber}` }).waitFor();
        const transactions = page.getByRole('table', { name: 'Transactions' });
        await transactions.getByText('createMany').waitFor();
        expect(await looksOf(page, stack(), 'fabric-block')).toEqual([]);
        await transactions.getByRole('link').first().click();
        await page.getByRole('heading', { level: 1, name: 'Transaction' }).waitFor();
        await page.getByText('Org1MSP · O=Org1MSP, OU=client, CN=client').waitFor();
        expect(await page.getByText(written.transactionId).first().textContent()).toBe(written.transactionId);
        expect(await page.getByRole('table', { name: 'Keys written' }).getByRole('row').count()).toBe(5);
        await page.getByRole('cell', { name: 'crate-2 (asset)' }).waitFor();
        expect(await page.getByText('of the asset').count()).toBe(0);
        expect(await looksOf(page, stack(), 'fabric-transaction')).toEqual([]);
      });
    }, 120_000);

    it('finds a block by its number and a transaction by its id, and says what is not there', async () => {
      await stack().visit('viewer', '/home', async (page) => {
        await onFabric(page);
        await page.goto('/ledger/fabric/acme.main');
        const jump = async (text: string) => {
          await page.getByLabel('Block or transaction id').fill(text);
          await page.getByRole('button', { name: 'Go' }).click();
        };
        await jump(written.transactionId);
        await page.getByText('Valid', { exact: true }).waitFor();
        await page.goto('/ledger/fabric/acme.main');
        await jump('0');
        await page.getByText('Configuration of the channel').waitFor();
        await page.goto('/ledger/fabric/acme.main');
        await jump('f'.repeat(64));
        await page.getByText('No mapped channel has such a transaction of a contract.').waitFor();
        await page.goto('/ledger/fabric/acme.main/99999');
        await page.getByText(/^The newest block of the channel is /).waitFor();
      });
    }, 60_000);

    it('says that no peer answers', async () => {
      await peer.network.stop();
      try {
        await stack().visit('operator', '/home', async (page) => {
          await onFabric(page);
          await page.goto('/ledger?by=ledger-peer');
          await page.getByText('No peer answers').waitFor();
          await page.getByRole('link', { name: 'acme.main' }).click();
          await page.getByText('LEDGER_UNAVAILABLE').first().waitFor();
          expect(await looksOf(page, stack(), 'fabric-away')).toEqual([]);
        });
      } finally {
        await peer.network.start();
      }
    }, 60_000);
  });
}
