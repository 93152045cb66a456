import type { Asked } from '../history.ts';
import { Findings, type Check } from './check.ts';
import { membersOf } from './canonical.ts';

interface Moment {
  readonly atMs: number;
  readonly number: number;
}

interface Subject {
  /** The first request for a seal. */
  sealAsked?: Moment;
  /** The first answered revocation. */
  revoked?: Moment;
  /** The allow that was answered first, and the one that was asked for last. */
  firstAllow?: Moment;
  lastAllow?: Moment;
}

/** No check that began after a revocation was answered allows, and none that was answered before a seal was asked for. */
export function revokedSubjects(): Check {
  const findings = new Findings('no allow for a revoked subject, none before its seal, and no answer that is neither');
  const subjects = new Map<string, Subject>();
  const subjectOf = ({ as, sent }: Asked): Subject => {
    const name = `${as} ${sent?.subject}`;
    const subject = subjects.get(name) ?? {};
    subjects.set(name, subject);
    return subject;
  };
  const check = (asked: Asked, number: number): void => {
    const { status, text = '', startedMs, endedMs } = asked;
    if (status === undefined) return;
    const { decision, allow } = membersOf(text);
    const isAllow = /"allow":true|"decision":(?:"allow"|true)/.test(text);
    const isClear = isAllow
      ? status === 200 && decision === 'allow' && allow === true
      : decision === 'deny' && allow === false;
    findings.judge(!isClear && `line ${number}: a check was answered ${status} ${text.slice(0, 200)}`);
    if (!isAllow) return;
    const subject = subjectOf(asked);
    if (endedMs < (subject.firstAllow?.atMs ?? Infinity)) subject.firstAllow = { atMs: endedMs, number };
    if (startedMs > (subject.lastAllow?.atMs ?? -Infinity)) subject.lastAllow = { atMs: startedMs, number };
  };
  return {
    line(line, number) {
      if (line.is !== 'asked') return;
      if (line.act === 'check') check(line, number);
      if (line.act === 'seal') {
        const subject = subjectOf(line);
        if (line.startedMs < (subject.sealAsked?.atMs ?? Infinity))
          subject.sealAsked = { atMs: line.startedMs, number };
      }
      if (line.act === 'revoke' && line.status !== undefined && line.status < 300) {
        const subject = subjectOf(line);
        if (line.endedMs < (subject.revoked?.atMs ?? Infinity)) subject.revoked = { atMs: line.endedMs, number };
      }
    },
    close() {
      for (const [name, { sealAsked, revoked, firstAllow, lastAllow }] of subjects) {
        if (firstAllow !== undefined && firstAllow.atMs < (sealAsked?.atMs ?? Infinity))
          findings.add(`line ${firstAllow.number}: ${name} was let in before its seal was asked for`);
        if (revoked !== undefined && lastAllow !== undefined && lastAllow.atMs > revoked.atMs)
          findings.add(`line ${lastAllow.number}: ${name} was let in, and line ${revoked.number} had revoked it`);
      }
      return Promise.resolve(findings.verdict());
    },
  };
}
