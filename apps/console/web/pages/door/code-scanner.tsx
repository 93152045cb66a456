import { Alert } from '@mantine/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import classes from './door.module.css';

/** Interval of scanning the camera image. */
const LOOK_MS = 200;

/** The used part of the Shape Detection API, which TypeScript's DOM types lack. */
interface Detector {
  detect(source: HTMLVideoElement): Promise<readonly { readonly rawValue: string }[]>;
}

const detectorClass = (): (new () => Detector) | undefined =>
  (globalThis as { readonly BarcodeDetector?: new () => Detector }).BarcodeDetector;

/** Whether this browser can detect codes and give a page access to a camera. */
export const canScan = (): boolean =>
  detectorClass() !== undefined && typeof navigator.mediaDevices?.getUserMedia === 'function';

/** Shows the camera until one code was read. Images stay on the tablet. */
export function CodeScanner({
  onCode,
  onFail,
}: {
  readonly onCode: (text: string) => void;
  readonly onFail: () => void;
}): ReactNode {
  const video = useRef<HTMLVideoElement>(null);
  const [fault, setFault] = useState<string>();
  const told = useRef(onCode);
  useEffect(() => {
    told.current = onCode;
  });
  useEffect(() => {
    const stop = new AbortController();
    scan(video.current!, stop.signal).then(
      (code) => code !== undefined && told.current(code),
      (error: unknown) =>
        setFault(error instanceof DOMException && error.name === 'NotAllowedError' ? 'refused' : 'failed'),
    );
    return () => stop.abort();
  }, []);
  if (fault !== undefined)
    return (
      <Alert color="red" title="The camera cannot be used" withCloseButton closeButtonLabel="Close" onClose={onFail}>
        {fault === 'refused' ? 'This page may not use the camera. Allow it in the browser, or' : 'Please'} type the code
        instead.
      </Alert>
    );
  return <video className={classes['video']} ref={video} muted playsInline aria-label="Camera image" />;
}

async function scan(video: HTMLVideoElement, stopped: AbortSignal): Promise<string | undefined> {
  const Detector = detectorClass();
  if (Detector === undefined) throw new Error('This browser reads no codes.');
  const detector = new Detector();
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
  try {
    if (stopped.aborted) return undefined;
    video.srcObject = stream;
    await video.play();
    while (!stopped.aborted) {
      const [found] = await detector.detect(video);
      if (found !== undefined && !stopped.aborted) return found.rawValue;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return undefined;
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
}
