/** Opened resources, released in reverse order. */
export interface ReleaseStack {
  own(name: string, release: () => Promise<void> | void): void;
  /** Continues when a release fails, and returns the names of those that did. Idempotent. */
  releaseAll(): Promise<string[]>;
}

export function releaseStack(): ReleaseStack {
  const owned: { name: string; release: () => Promise<void> | void }[] = [];
  return {
    own: (name, release) => void owned.push({ name, release }),
    async releaseAll() {
      const failed: string[] = [];
      for (let last = owned.pop(); last !== undefined; last = owned.pop()) {
        try {
          await last.release();
        } catch (error) {
          failed.push(`${last.name} (${error instanceof Error ? error.message : String(error)})`);
        }
      }
      return failed;
    },
  };
}
