import decodeQR from 'qr/decode.js';

/** An image as a canvas gives it: four bytes a pixel. */
export type Pixels = Pick<ImageData, 'data' | 'width' | 'height'>;

/** The text of the QR code in an image; undefined if there is none that can be read. */
export function readCode({ data, width, height }: Pixels): string | undefined {
  try {
    return decodeQR({ data, width, height });
  } catch {
    return undefined; // It throws for every image without a code.
  }
}
