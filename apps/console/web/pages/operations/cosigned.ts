import {
  parseCheckpoint,
  parseNote,
  parsePolicy,
  settleSignatures,
  type LogPolicy,
  type PolicyWitness,
} from '@sealgate/merkle';

interface WitnessState {
  readonly name: string;
  /** When it cosigned this checkpoint; undefined: it did not. */
  readonly at: Date | undefined;
  /** Its signature is there, and not over this checkpoint. */
  readonly isWrong: boolean;
}

interface Cosigned {
  /** Entries that the checkpoint covers. */
  readonly size: number;
  readonly isQuorum: boolean;
  readonly witnesses: readonly WitnessState[];
}

/** Which witnesses of a policy cosigned a checkpoint, verified in this browser. Throws an Error for a malformed note. */
export function cosigned(policyText: string, note: string): Promise<Cosigned> {
  const policy: LogPolicy = parsePolicy(policyText);
  const { text, signatures } = parseNote(note);
  const { size } = parseCheckpoint(text);
  const stateOf = ({ name, verifier }: PolicyWitness): WitnessState => {
    const times = signatures.filter(verifier.claims).map((signature) => verifier.signedAt(text, signature));
    const seconds = times.filter((time) => time !== undefined);
    const isWrong = seconds.length < times.length;
    return { name, at: isWrong || seconds.length === 0 ? undefined : new Date(Math.max(...seconds) * 1_000), isWrong };
  };
  return settleSignatures(() => {
    const witnesses = policy.witnesses.map(stateOf);
    const names = witnesses.filter(({ at }) => at !== undefined).map(({ name }) => name);
    return { size, isQuorum: policy.isQuorum(new Set(names)), witnesses };
  });
}

interface Described {
  readonly witnesses: readonly {
    readonly name: string;
    readonly keyName: string;
    readonly verifierKey: string;
    readonly url: string | undefined;
  }[];
  /** What the last line of a policy asks for, and its groups: as written. */
  readonly rules: readonly string[];
}

/** The parts of a policy (C2SP tlog-policy). Throws an Error that names the line and the fault. */
export function describePolicy(policyText: string): Described {
  const { witnesses } = parsePolicy(policyText);
  const lines = policyText.split('\n').map((line) => line.trim());
  return {
    witnesses: witnesses.map(({ name, verifier, url }) => ({
      name,
      keyName: verifier.name,
      verifierKey: verifier.verifierKey,
      url,
    })),
    rules: lines.filter((line) => /^(group|quorum)[ \t]/.test(line)),
  };
}
