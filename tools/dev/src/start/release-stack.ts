/** What has been opened, to be released in reverse. One release that fails does not keep the others from running. */
export interface ReleaseStack {
  own(name: string, release: () => Promise<void> | void): void;
  /** Gives the names of the releases that failed, with what they threw. Idempotent. */
  releaseAll(): Promise<readonly { readonly name: string; readonly error: unknown }[]>;
}

export function releaseStack(): ReleaseStack {
  const owned: { name: string; release: () => Promise<void> | void }[] = [];
  return {
    own: (name, release) => void owned.push({ name, release }),
    releaseAll: async () => {
      const failures: { name: string; error: unknown }[] = [];
      for (let next = owned.pop(); next !== undefined; next = owned.pop()) {
        try {
          await next.release();
        } catch (error) {
          failures.push({ name: next.name, error });
        }
      }
      return failures;
    },
  };
}
