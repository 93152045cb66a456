import { Contract, type Context } from 'fabric-contract-api';

interface Asset {
  readonly ID: string;
  readonly Color: string;
  readonly Size: number;
  readonly Owner: string;
  readonly AppraisedValue: number;
}

/**
 * A third-party style contract: the transactions and positional arguments of Fabric's tutorials, its own error
 * messages, ids as keys. Our driver must work with it.
 */
export class BasicAssetsContract extends Contract {
  constructor() {
    super('basic-assets');
  }

  async CreateAsset(
    ctx: Context,
    id: string,
    color: string,
    size: string,
    owner: string,
    value: string,
  ): Promise<void> {
    if (await this.AssetExists(ctx, id)) throw new Error(`the asset ${id} already exists`);
    await putAsset(ctx, id, { color, size, owner, value });
    ctx.stub.setEvent('CreateAsset', Buffer.from(id));
  }

  async UpdateAsset(
    ctx: Context,
    id: string,
    color: string,
    size: string,
    owner: string,
    value: string,
  ): Promise<void> {
    if (!(await this.AssetExists(ctx, id))) throw new Error(`the asset ${id} does not exist`);
    await putAsset(ctx, id, { color, size, owner, value });
  }

  /** Returns the previous owner. */
  async TransferAsset(ctx: Context, id: string, newOwner: string): Promise<string> {
    const asset = JSON.parse(await this.ReadAsset(ctx, id)) as Asset;
    await ctx.stub.putState(id, Buffer.from(JSON.stringify({ ...asset, Owner: newOwner })));
    return asset.Owner;
  }

  /** Counts how often it was committed: it has no way to notice that it is asked again. */
  async CountAsset(ctx: Context, id: string): Promise<void> {
    const bytes = await ctx.stub.getState(id);
    const before = bytes.length === 0 ? 0 : (JSON.parse(Buffer.from(bytes).toString('utf8')) as Asset).AppraisedValue;
    await putAsset(ctx, id, { color: '', size: '0', owner: '', value: String(before + 1) });
  }

  async ReadAsset(ctx: Context, id: string): Promise<string> {
    const bytes = await ctx.stub.getState(id);
    if (bytes.length === 0) throw new Error(`the asset ${id} does not exist`);
    return Buffer.from(bytes).toString('utf8');
  }

  async DeleteAsset(ctx: Context, id: string): Promise<void> {
    if (!(await this.AssetExists(ctx, id))) throw new Error(`the asset ${id} does not exist`);
    await ctx.stub.deleteState(id);
  }

  async AssetExists(ctx: Context, id: string): Promise<boolean> {
    return (await ctx.stub.getState(id)).length > 0;
  }

  /** Newest first, as the samples have it. */
  async GetAssetHistory(ctx: Context, id: string): Promise<string> {
    const changes: object[] = [];
    for await (const { txId, value, isDelete } of ctx.stub.getHistoryForKey(id)) {
      const record: unknown = isDelete ? null : JSON.parse(Buffer.from(value).toString('utf8'));
      changes.push({ txId, isDelete, record });
    }
    return JSON.stringify(changes);
  }

  async GetAllAssets(ctx: Context): Promise<string> {
    const assets: unknown[] = [];
    for await (const { value } of ctx.stub.getStateByRange('', ''))
      assets.push(JSON.parse(Buffer.from(value).toString('utf8')));
    return JSON.stringify(assets);
  }

  /** Keeps the pin, which comes as transient data. It says too much when it refuses, as contracts do. */
  async SetPin(ctx: Context, id: string, collection: string): Promise<string> {
    const pin = Buffer.from(ctx.stub.getTransient().get('pin') ?? []).toString('utf8');
    if (pin.length < 4) throw new Error(`the pin "${pin}" of ${id} is too short`);
    const known = await ctx.stub.getPrivateData(collection, id);
    if (known.length > 0)
      throw new Error(`${id} already exists with pin ${Buffer.from(known).toString('utf8')}, not ${pin}`);
    await ctx.stub.putPrivateData(collection, id, Buffer.from(pin));
    return 'kept';
  }

  async GetPin(ctx: Context, collection: string, id: string): Promise<string> {
    const pin = await ctx.stub.getPrivateData(collection, id);
    if (pin.length === 0) throw new Error(`the pin of ${id} does not exist`);
    return JSON.stringify({ ID: id, pin: Buffer.from(pin).toString('utf8') });
  }

  /** For clients with the attribute `role` of value `approver` only, as attribute-based access control has it. */
  async ApproveAsset(ctx: Context, id: string): Promise<string> {
    const asset = JSON.parse(await this.ReadAsset(ctx, id)) as Asset;
    const role = ctx.clientIdentity.getAttributeValue('role') ?? 'nobody';
    if (role !== 'approver') throw new Error(`${role} may not approve ${id}`);
    const approver = nameIn(ctx.clientIdentity.getID());
    await ctx.stub.putState(id, Buffer.from(JSON.stringify({ ...asset, Owner: approver })));
    return approver;
  }

  /** The asset as its reader may see it. */
  async ReadAsRole(ctx: Context, id: string): Promise<string> {
    const { ID, ...rest } = JSON.parse(await this.ReadAsset(ctx, id)) as Asset;
    const role = ctx.clientIdentity.getAttributeValue('role') ?? 'nobody';
    return JSON.stringify(role === 'approver' ? { ID, role, ...rest } : { ID, role });
  }

  /** A page of the assets of an owner; the selector stands for one of CouchDB. */
  async QueryAssets(ctx: Context, selector: string, pageSize: string, bookmark: string): Promise<string> {
    const { owner } = JSON.parse(selector) as { owner: string };
    const all = JSON.parse(await this.GetAllAssets(ctx)) as Asset[];
    const rest = all.filter(({ ID, Owner }) => Owner === owner && ID > bookmark);
    const records = rest.slice(0, Number(pageSize));
    return JSON.stringify({ records, bookmark: rest.length > records.length ? records.at(-1)?.ID : '' });
  }
}

/** The common name in `x509::<subject>::<issuer>`. */
const nameIn = (id: string): string => /CN=([^/:]+)/.exec(id)?.[1] ?? '';

type Positional = Readonly<Record<'color' | 'size' | 'owner' | 'value', string>>;

async function putAsset(ctx: Context, id: string, { color, size, owner, value }: Positional): Promise<void> {
  const asset: Asset = { ID: id, Color: color, Size: Number(size), Owner: owner, AppraisedValue: Number(value) };
  await ctx.stub.putState(id, Buffer.from(JSON.stringify(asset)));
}
