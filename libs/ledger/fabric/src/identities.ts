import { MisconfiguredError, UnavailableError } from './fabric-errors.ts';
import { IdentityFiles, type CredentialsState, type FabricIdentity, type IdentitySource } from './identity-files.ts';

interface IdentitiesOptions {
  /** One at least; their names differ. */
  readonly sources: readonly IdentitySource[];
  /** The name of the one that signs what no caller asks for. Default: the first. */
  readonly preferred: string | undefined;
  /** Names of others that were removed on purpose. */
  readonly retired?: readonly string[];
  readonly now: () => number;
  /** Files that could not be loaded; see `IdentityFiles`. */
  readonly onProblem: (name: string, detail: string) => void;
  /** Work waits for an identity that the connection file does not have; called once a minute for each. */
  readonly onGone: (name: string) => void;
}

const GONE_FOR_MS = 60_000;
/** Names of identities come from the journal of jobs. */
const MAX_GONE = 100;

/** The identities of a connection file, by name. */
export class Identities {
  readonly #options: IdentitiesOptions;
  readonly #files: ReadonlyMap<string, IdentityFiles>;
  /** The preferred one, then the others in the order of the file. */
  readonly #inBackground: readonly IdentityFiles[];
  /** When work was last found to wait for an identity that is not here, and when that was logged. */
  readonly #gone = new Map<string, { atMs: number; loggedAtMs: number }>();

  constructor(options: IdentitiesOptions) {
    this.#options = options;
    const { sources, preferred, now, onProblem } = options;
    this.#files = new Map(
      sources.map((source) => {
        const onFault = (detail: string) => onProblem(source.name, detail);
        return [source.name, new IdentityFiles({ source, now, onProblem: onFault })];
      }),
    );
    const first = preferred === undefined ? undefined : this.#files.get(preferred);
    this.#inBackground = [...new Set([...(first === undefined ? [] : [first]), ...this.#files.values()])];
  }

  /** Reads all files, so that problems are logged from the start. */
  load(): void {
    for (const files of this.#files.values()) files.current();
  }

  /**
   * Undefined while its files cannot be used.
   * @throws UnavailableError if the connection file has none of this name, and MisconfiguredError if it was removed on
   * purpose: nothing is signed as another.
   */
  current(name: string): FabricIdentity | undefined {
    const files = this.#files.get(name);
    if (files !== undefined) return files.current();
    if (this.#options.retired?.includes(name) === true)
      throw new MisconfiguredError(`The identity ${name} is retired.`, { reason: 'identity_retired' });
    this.#miss(name);
    throw new UnavailableError(`The connection file has no identity ${name}.`, { reason: 'identity_unusable' });
  }

  /** Signs what no caller asks for: streams, status, heights, health. Undefined while none can be used. */
  background(): FabricIdentity | undefined {
    for (const files of this.#inBackground) {
      const identity = files.current();
      if (identity !== undefined) return identity;
    }
    return undefined;
  }

  /** Names that work has waited for within the last minute, and that the connection file does not have. */
  get gone(): string[] {
    const { now } = this.#options;
    return [...this.#gone].flatMap(([name, { atMs }]) => (now() - atMs < GONE_FOR_MS ? [name] : []));
  }

  /** Of all of them; in order as long as one can be used. */
  state(): CredentialsState {
    const states = [...this.#files].map(([name, files]) => ({ name, ...files.state() }));
    const [only, another] = states;
    if (only !== undefined && another === undefined) {
      const { ok, problems, certificateExpiresAt } = only;
      return { ok, problems, certificateExpiresAt };
    }
    const ends = states.flatMap(({ certificateExpiresAt }) => certificateExpiresAt ?? []);
    return {
      ok: states.some(({ ok }) => ok),
      problems: states.flatMap(({ name, problems }) => problems.map((problem) => `identity ${name}: ${problem}`)),
      certificateExpiresAt: ends.sort()[0] ?? null,
      identities: states.map(({ name, ok, certificateExpiresAt }) => ({ name, ok, certificateExpiresAt })),
    };
  }

  #miss(name: string): void {
    const { now, onGone } = this.#options;
    const atMs = now();
    const loggedAtMs = this.#gone.get(name)?.loggedAtMs ?? Number.NEGATIVE_INFINITY;
    const isLogged = atMs - loggedAtMs < GONE_FOR_MS;
    if (this.#gone.size >= MAX_GONE) this.#gone.clear();
    this.#gone.set(name, { atMs, loggedAtMs: isLogged ? loggedAtMs : atMs });
    if (!isLogged) onGone(name);
  }
}
