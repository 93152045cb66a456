/** More than any file of `npm test` takes on a slow machine. */
const SUSPECT_MS = 180_000;

/** Names a file that runs suspiciously long, because a test that hangs is otherwise only seen as a run that ends late. */
export default class StillRunning {
  #timers = new Map();

  onTestFileStart({ path }) {
    const name = () => process.stderr.write(`Still running after ${SUSPECT_MS / 1_000} s: ${path}\n`);
    this.#timers.set(path, setTimeout(name, SUSPECT_MS).unref());
  }

  onTestFileResult({ path }) {
    clearTimeout(this.#timers.get(path));
  }
}
