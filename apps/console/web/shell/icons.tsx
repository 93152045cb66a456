import type { ReactNode } from 'react';

const shapes = {
  overview: <path d="M4 13h6V4H4zM14 20h6v-9h-6zM14 8h6V4h-6zM4 20h6v-4H4z" />,
  networks: <path d="M14 7a4 4 0 1 1-2.8 6.8L5 20H3v-3h3v-3h3l1.2-1.2A4 4 0 0 1 14 7zM16 9.5h.01" />,
  events: <path d="M4 6h16M4 12h10M4 18h13M18 12h2" />,
  ledger: <path d="M12 3l7 4v10l-7 4-7-4V7zM5 7l7 4 7-4M12 11v10" />,
  operations: <path d="M4 7h9M19 7h1M16 4.5v5M4 17h3M13 17h7M10 14.5v5" />,
  risks: <path d="M12 4l9 16H3zM12 10v4M12 17h.01" />,
  cases: <path d="M4 8h16v11H4zM9 8V5h6v3M4 13h16" />,
  door: <path d="M6 21V4h12v17M3 21h18M14 12h.01" />,
  verify: <path d="M12 3l8 3v6c0 4.5-3.3 7.8-8 9-4.7-1.2-8-4.5-8-9V6zM8.5 12l2.5 2.5 4.5-5" />,
  copy: <path d="M9 9h11v11H9zM5 15H4V4h11v1" />,
  check: <path d="M5 12.5l4.5 4.5L19 7.5" />,
  cross: <path d="M6 6l12 12M18 6L6 18" />,
  dash: <path d="M6 12h12" />,
  menu: <path d="M4 7h16M4 12h16M4 17h16" />,
  next: <path d="M9 5l7 7-7 7" />,
  back: <path d="M15 5l-7 7 7 7" />,
  sun: (
    <path d="M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5" />
  ),
  moon: <path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" />,
  person: <path d="M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 3.5-6 8-6s8 2 8 6" />,
  refresh: <path d="M20 11a8 8 0 0 0-14.3-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.3 4L20 15M20 20v-5h-5" />,
  search: <path d="M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5" />,
  empty: <path d="M4 13l3-8h10l3 8v6H4zM4 13h5l1.5 2.5h3L15 13h5" />,
  file: <path d="M6 3h8l4 4v14H6zM14 3v4h4" />,
  more: <path d="M12 4.8v1M12 11.5v1M12 18.2v1" />,
  live: <path d="M12 11.5h.01M8.5 15a5 5 0 0 1 0-7M15.5 8a5 5 0 0 1 0 7M5.5 18a9 9 0 0 1 0-13M18.5 5a9 9 0 0 1 0 13" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof shapes;

/** A decorative icon beside text, hidden from assistive technology. */
export const Icon = ({ name, size = 18 }: { name: IconName; size?: number }): ReactNode => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.8"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    focusable="false"
  >
    {shapes[name]}
  </svg>
);
