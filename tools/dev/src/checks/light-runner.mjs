import LightRunner from 'jest-light-runner/child-process';
import Tinypool from 'tinypool';

/**
 * The runner of jest, mended. A process that starts asks the runner for its configuration, once. The runner's channel
 * is one for all processes and answers whoever waits, whether it has asked or not: what came before a process asked is
 * lost to it, and its question finds nobody to answer, so that the run stands still for ever. Here each file has a
 * channel of its own, which answers the process that asked.
 */
const runOnSharedChannel = Tinypool.prototype.run;

Tinypool.prototype.run = function run(file, options) {
  return runOnSharedChannel.call(this, file, { ...options, channel: channelOf(this.options.workerData) });
};

/** What tinypool gives a process for messages beside its tasks: `onMessage` before the first of them, `postMessage` for each. */
function channelOf(workerData) {
  let answer;
  return {
    onMessage(send) {
      answer = send;
    },
    postMessage(question) {
      if (question === 'jest-light-runner-get-worker-data')
        answer({ type: 'jest-light-runner-worker-data', workerData });
    },
  };
}

export default LightRunner;
