import type { ReactNode } from 'react';
import { nodeHash } from '@sealgate/merkle';
import { Bytes } from '@sealgate/json';
import type { ReceiptFile, Report, StepStatus } from '@sealgate/verify/checks';
import { formatNumber } from '../../shell/formats.ts';
import classes from './verify.module.css';
import { StepMark } from './report-view.tsx';
import * as texts from './texts.ts';

interface Level {
  readonly sibling: string;
  readonly side: 'left' | 'right';
  readonly above: string;
}

const half = (value: number): number => Math.floor(value / 2);

/** The hashes from the leaf to the root (RFC 9162, section 2.1.3.2); empty if the path is invalid. */
function climb({ leafHash, index, treeSize, inclusionPath }: ReceiptFile['proof']): Level[] {
  const levels: Level[] = [];
  let hash = Bytes.from(leafHash, 'hex');
  let [place, last] = [index, treeSize - 1];
  try {
    for (const sibling of inclusionPath) {
      const other = Bytes.from(sibling, 'hex');
      const isRight = place % 2 === 1 || place === last;
      hash = isRight ? nodeHash(other, hash) : nodeHash(hash, other);
      levels.push({ sibling, side: isRight ? 'left' : 'right', above: hash.toString('hex') });
      while (isRight && place % 2 === 0 && place > 0) [place, last] = [half(place), half(last)];
      [place, last] = [half(place), half(last)];
    }
  } catch {
    return []; // A hash with a wrong length: the report says so.
  }
  return levels;
}

/** The worst result of the named steps; undefined if none was run. */
function statusOf({ steps }: Report, ...names: string[]): StepStatus {
  const found = steps.filter(({ step }) => names.includes(step)).map(({ status }) => status);
  if (found.includes('failed')) return 'failed';
  return found.includes('ok') ? 'ok' : 'skipped';
}

interface DrawingProps {
  /** Without a receipt only the place of the entry is drawn. */
  readonly file: Pick<ReceiptFile, 'proof'> & Partial<Pick<ReceiptFile, 'receipt'>>;
  readonly report: Report;
}

/** A drawing of a proof: content, leaf, path, root and signature, each with its result and the compared values. */
export function ProofDrawing({ file, report }: DrawingProps): ReactNode {
  const { receipt, proof } = file;
  const levels = climb(proof);
  const root = levels.at(-1)?.above ?? proof.leafHash;
  const [, , rootText = ''] = proof.checkpoint.split('\n');
  const { length } = proof.inclusionPath;
  const signedRoot = Bytes.from(rootText, 'base64').toString('hex');
  return (
    <ol className={classes['drawing']} aria-label={texts.drawingLabel}>
      <Stage title={texts.signature} status={statusOf(report, 'signature', 'checkpoint', 'origin')}>
        {texts.signatureHint(texts.entries(proof.treeSize, formatNumber(proof.treeSize)))}
      </Stage>
      <Stage title={texts.root} status={statusOf(report, 'inclusion', 'size')}>
        <Hash label={texts.computed} value={root} />
        <Hash label={texts.signed} value={signedRoot} />
      </Stage>
      <Stage title={texts.pathOf(texts.hashes(length, formatNumber(length)))} status={statusOf(report, 'inclusion')}>
        {levels.length > 0 && (
          <details>
            <summary>{texts.eachHashOnTheWayUp}</summary>
            <ol className={classes['levels']} reversed>
              {levels.toReversed().map(({ sibling, side, above }) => (
                <li key={above}>
                  <Hash label={side === 'left' ? texts.withLeft : texts.withRight} value={sibling} />
                  <Hash label={texts.gives} value={above} />
                </li>
              ))}
            </ol>
          </details>
        )}
      </Stage>
      <Stage
        title={texts.leaf(formatNumber(proof.index))}
        status={receipt === undefined ? statusOf(report, 'inclusion') : statusOf(report, 'leaf', 'agreement')}
      >
        <Hash label={receipt === undefined ? texts.inTheLog : texts.ofTheReceipt} value={proof.leafHash} />
      </Stage>
      {receipt !== undefined && (
        <Stage title={texts.content} status={statusOf(report, 'content')}>
          <Hash label={receipt.salt === null ? texts.erased : texts.dataHash} value={receipt.dataHash} />
        </Stage>
      )}
    </ol>
  );
}

const Stage = ({ title, status, children }: { title: string; status: StepStatus; children?: ReactNode }): ReactNode => (
  <li className={`${classes['stage']} ${classes[status]}`}>
    <div className={classes['stageHead']}>
      <strong>{title}</strong>
      <StepMark status={status} />
    </div>
    {children !== undefined && <div className={classes['stageBody']}>{children}</div>}
  </li>
);

const Hash = ({ label, value }: { label: string; value: string }): ReactNode => (
  <div className={classes['hash']}>
    <span>{label}</span>
    <code>{value}</code>
  </div>
);
