/**
 * Rules whose time passes faster: every duration is divided by the same factor, and so is every number of an expression
 * that is one, such as the seconds in `rate5m * 300`. A threshold per second is multiplied by it. What is counted, and
 * shares, stay.
 */
export function quickRules(text: string, factor: number): string {
  return text
    .replaceAll(/#.*$/gm, '')
    .replaceAll(/\[(\d+[smhd])\]/g, (_, time: string) => `[${quick(time, factor)}]`)
    .replaceAll(/\b(offset|for:|interval:) (\d+[smhd])\b/g, (_, word: string, time: string) =>
      [word, quick(time, factor)].join(' '),
    )
    .replaceAll(SECONDS, (seconds) => String(Number(seconds) / factor))
    .replaceAll(A_SECOND, (_, name: string, rate: string) => `${name} > ${Number(rate) * factor}`);
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** The numbers of seconds in the expressions: no count or share there is one of them. */
const SECONDS = /(?<=[>*/] )(?:60|120|300|600|3600|21600|259200)\b/g;
/** Requests a second, not a share: a share is of a ratio. */
const A_SECOND = /(?<=and )(service:http_requests:rate\w+) > ([\d.]+)/g;

const quick = (time: string, factor: number): string =>
  `${Math.round((Number(time.slice(0, -1)) * UNIT_MS[time.at(-1) as keyof typeof UNIT_MS]) / factor)}ms`;
