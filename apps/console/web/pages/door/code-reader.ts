import * as texts from './texts.ts';

/** Widest image that is looked at: a code that fills a tenth of it can still be read, and a frame costs milliseconds. */
const MAX_WIDTH = 960;

/** Reads codes from a camera image. */
export interface CodeReader {
  /** The text of a QR code in the current image, if there is one. */
  read(video: HTMLVideoElement): Promise<string | undefined>;
  close(): void;
}

/** The used part of the Shape Detection API, which TypeScript's DOM types lack. */
interface Detector {
  detect(source: HTMLVideoElement): Promise<readonly { readonly rawValue: string }[]>;
}

interface DetectorClass {
  new (options: { formats: readonly string[] }): Detector;
  getSupportedFormats(): Promise<readonly string[]>;
}

/** The browser's own detector where it has one; else a decoder of ours, in a worker, so that the page stays quick. */
export async function openCodeReader(): Promise<CodeReader> {
  const { BarcodeDetector: detectors } = globalThis as { readonly BarcodeDetector?: DetectorClass };
  const formats = await detectors?.getSupportedFormats().catch((): string[] => []);
  if (detectors === undefined || !formats?.includes('qr_code')) return workerReader();
  const detector = new detectors({ formats: ['qr_code'] });
  return {
    read: async (video) => (await detector.detect(video))[0]?.rawValue,
    close: () => undefined,
  };
}

function workerReader(): CodeReader {
  const worker = new Worker(new URL('./read-code.worker.ts', import.meta.url), { type: 'module' });
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', { willReadFrequently: true });
  return {
    read(video) {
      const { videoWidth, videoHeight } = video;
      if (context === null || videoWidth === 0) return Promise.resolve(undefined);
      const scale = Math.min(1, MAX_WIDTH / videoWidth);
      canvas.width = Math.round(videoWidth * scale);
      canvas.height = Math.round(videoHeight * scale);
      context.drawImage(video, 0, 0, canvas.width, canvas.height);
      const image = context.getImageData(0, 0, canvas.width, canvas.height);
      return new Promise((resolve, reject) => {
        worker.onmessage = ({ data }: MessageEvent<string | undefined>) => resolve(data);
        worker.onerror = () => reject(new Error('The decoder failed.'));
        worker.postMessage(image, [image.data.buffer]);
      });
    },
    close: () => worker.terminate(),
  };
}

/** Why this page has no camera; undefined if it may have one. */
export function cameraFault(): string | undefined {
  if (!globalThis.isSecureContext) return texts.noCameraWithoutHttps;
  if (typeof navigator.mediaDevices?.getUserMedia !== 'function') return texts.noCameraInThisBrowser;
  return undefined;
}
