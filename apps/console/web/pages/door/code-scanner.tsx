import { Alert } from '@mantine/core';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { openCodeReader } from './code-reader.ts';
import * as texts from './texts.ts';
import classes from './door.module.css';

/** Interval of reading the camera image. */
const LOOK_MS = 200;

const FAULTS: Readonly<Record<string, string>> = {
  NotAllowedError: texts.cameraNotAllowed,
  NotFoundError: texts.cameraNotFound,
  NotReadableError: texts.cameraInUse,
};

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
      (error: unknown) => setFault((error instanceof DOMException && FAULTS[error.name]) || texts.cameraFailed),
    );
    return () => stop.abort();
  }, []);
  if (fault !== undefined)
    return (
      <Alert
        color="red"
        title={texts.theCameraCannotBeUsed}
        withCloseButton
        closeButtonLabel={texts.close}
        onClose={onFail}
      >
        {fault}
      </Alert>
    );
  return <video className={classes['video']} ref={video} muted playsInline aria-label={texts.cameraImage} />;
}

async function scan(video: HTMLVideoElement, stopped: AbortSignal): Promise<string | undefined> {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
  const reader = await openCodeReader();
  try {
    if (stopped.aborted) return undefined;
    video.srcObject = stream;
    await video.play();
    while (!stopped.aborted) {
      const found = await reader.read(video);
      if (found !== undefined && !stopped.aborted) return found;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return undefined;
  } finally {
    reader.close();
    for (const track of stream.getTracks()) track.stop();
  }
}
